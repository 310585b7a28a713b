package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/yacron2/yacron2"

// mayImport says which packages of this module a package may import. A trailing /...
// stands for the folder and everything below it. A package without a row fails the
// test: whoever adds one decides here what it may see.
var mayImport = map[string][]string{
	".":       {"command"},
	"api":     {}, // other programs import it: nothing internal
	"command": {"api", "agent", "agent/config", "scheduler", "internal/pki", "internal/version"},

	"agent": {"agent/config", "api", "ui", "election", "gossip", "gossip/votes", "lease/...", "scheduler/...",
		"internal/bind", "internal/exposition", "internal/version"},
	"agent/config": {"scheduler", "scheduler/report", "gossip", "lease", "election"},

	// Siblings: each sees the election, none sees another; the agent joins them.
	"election":         {},
	"gossip":           {"election", "internal/bind", "internal/version"},
	"gossip/votes":     {"election"},
	"lease":            {"election"},
	"lease/etcd":       {"election", "lease"},
	"lease/kubernetes": {"election", "lease", "internal/version"},
	"lease/consul":     {"election", "lease"},
	"lease/leasetest":  {"election", "lease", "internal/realstore", "internal/testcluster"},
	"scheduler":        {"election", "scheduler/..."},

	"scheduler/run":     {},
	"scheduler/history": {"scheduler/run"},
	"scheduler/report":  {"scheduler/run", "scheduler/history"},

	"ui":                  {},
	"internal/bind":       {},
	"internal/exposition": {},
	"internal/version":    {},
	"internal/pki":        {},
	"internal/simfault":   {},
	"internal/smtptest":   {},
	"internal/testutil":   {},
	"internal/browser":    {},
	"internal/benchtable": {},
	"internal/demo":       {"api"},
	"internal/confdoc":    {"agent/config"},
	"internal/site":       {},
	"internal/release":    {},

	"internal/consuldouble":    {},
	"internal/realstore":       {"internal/pki", "internal/realstore/cache", "internal/testcluster"},
	"internal/realstore/build": {"internal/realstore/cache"},
	"internal/realstore/cache": {},
	"internal/testcluster":     {"agent", "api", "internal/pki"},
	"internal/netcluster":      {"api", "gossip/votes", "internal/testcluster"},
	"internal/e2e":             {},
	"internal/simcluster":      {},
	"internal/soak":            {},
	"internal/storetest":       {},
	"internal/uitest":          {},
	"internal/nettest":         {},
	"internal/monitoring":      {},
	"internal/deploy":          {},
}

// testsMayImport is what the test files of any package may import on top of it.
// Only the end-to-end tests see the cluster of real agents.
var testsMayImport = map[string][]string{
	"*": {"internal/testutil", "internal/pki"},

	".":                    {"api"},
	"election":             {"internal/simfault"},
	"agent":                {"internal/consuldouble"},
	"internal/confdoc":     {"scheduler/report"},
	"scheduler/report":     {"internal/smtptest"},
	"gossip/votes":         {"gossip"}, // whose VoteStore it is
	"lease/etcd":           {"lease/leasetest", "internal/realstore", "internal/testcluster"},
	"lease/kubernetes":     {"lease/leasetest", "internal/realstore", "internal/testcluster"},
	"lease/consul":         {"lease/leasetest", "internal/consuldouble", "internal/realstore", "internal/testcluster"},
	"internal/e2e":         {"internal/testcluster", "internal/netcluster", "internal/smtptest", "api", "election"},
	"internal/storetest":   {"internal/testcluster", "internal/realstore", "internal/consuldouble", "api"},
	"internal/nettest":     {"internal/testcluster", "internal/netcluster", "api", "election"},
	"internal/simcluster":  {"election", "internal/simfault", "scheduler", "scheduler/run", "scheduler/history"},
	"internal/uitest":      {"internal/testcluster", "internal/browser", "api"},
	"internal/monitoring":  {"internal/testcluster"},
	"internal/soak":        {"internal/testcluster", "internal/netcluster"},
	"internal/deploy":      {"internal/testcluster", "internal/netcluster"},
	"internal/testcluster": {"election"},
}

// electionImports are the only packages that package election may name: no clock, no
// goroutine, no I/O, no randomness of its own.
var electionImports = []string{
	"bytes", "cmp", "container/heap", "container/list", "crypto/sha256", "encoding/binary",
	"encoding/hex", "errors", "fmt", "hash", "hash/fnv", "iter", "maps", "math", "math/bits",
	"slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf8", "unique",
}

// goPackage is the part of "go list -json" that the checks need.
type goPackage struct {
	ImportPath                         string
	Dir                                string
	Name                               string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
	Deps                               []string
}

// path is the import path below the module, "." for its root.
func (p *goPackage) path() string { return local(p.ImportPath) }

// local cuts the module off an import path; "" if it is of another module.
func local(importPath string) string {
	if importPath == module {
		return "."
	}
	if rest, ok := strings.CutPrefix(importPath, module+"/"); ok {
		return rest
	}
	return ""
}

func TestImportDirections(t *testing.T) {
	for _, p := range listPackages(t) {
		allowed, known := mayImport[p.path()]
		if !known {
			t.Errorf("package %s has no row in mayImport: decide what it may import", p.path())
			continue
		}
		checkImports(t, p.path(), p.Imports, allowed)

		inTests := slices.Concat(allowed, testsMayImport["*"], testsMayImport[p.path()], []string{p.path()})
		checkImports(t, p.path()+" (tests)", append(p.TestImports, p.XTestImports...), inTests)
	}
}

func checkImports(t *testing.T, who string, imports, allowed []string) {
	t.Helper()
	for _, path := range imports {
		if to := local(path); to != "" && !covers(allowed, to) {
			t.Errorf("%s imports %s; it may import only %q", who, to, allowed)
		}
	}
}

// covers reports whether path is in allowed or below one of its folders.
func covers(allowed []string, path string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		folder, below := strings.CutSuffix(a, "/...")
		return a == path || below && (path == folder || strings.HasPrefix(path, folder+"/"))
	})
}

// The table above binds direct imports; these packages must not reach the rest of the
// module by any way round.
func TestImportClosures(t *testing.T) {
	closed := []string{"api", "election", "ui", "scheduler/run", "internal/pki", "internal/version"}
	for _, p := range listPackages(t) {
		if !slices.Contains(closed, p.path()) {
			continue
		}
		for _, dep := range p.Deps {
			if to := local(dep); to != "" {
				t.Errorf("%s depends on %s; it must depend on nothing of this module", p.path(), to)
			}
		}
	}
}

func TestImportsOfElection(t *testing.T) {
	p := findPackage(t, "election")
	for _, path := range p.Imports {
		if !slices.Contains(electionImports, path) {
			t.Errorf("election imports %s, which is not in electionImports: it has no clock, goroutine or I/O", path)
		}
	}
	for _, f := range parseFiles(t, p, p.GoFiles) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: election starts a goroutine", f.pos(n))
			case *ast.SelectorExpr:
				if clock := calls(n, "time", "Now", "Since", "Until", "Sleep", "After", "AfterFunc",
					"Tick", "NewTimer", "NewTicker"); clock != "" {
					t.Errorf("%s: election uses %s; instants are arguments", f.pos(n), clock)
				}
			}
			return true
		})
	}
}

// No package has an init function, and only main programs end the process.
func TestImportsAreInert(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, f := range parseFiles(t, p, p.GoFiles) {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if n.Recv == nil && n.Name.Name == "init" {
						t.Errorf("%s: an init function; wire it where it is needed", f.pos(n))
					}
				case *ast.SelectorExpr:
					exit := calls(n, "os", "Exit") + calls(n, "log", "Fatal", "Fatalf", "Fatalln")
					if exit != "" && p.Name != "main" {
						t.Errorf("%s: %s below a main program; return an error", f.pos(n), exit)
					}
				}
				return true
			})
		}
	}
}

// calls returns "pkg.Name" if n names one of pkg's names, else "".
func calls(n *ast.SelectorExpr, pkg string, names ...string) string {
	if x, ok := n.X.(*ast.Ident); ok && x.Name == pkg && slices.Contains(names, n.Sel.Name) {
		return pkg + "." + n.Sel.Name
	}
	return ""
}

type parsedFile struct {
	ast  *ast.File
	fset *token.FileSet
}

func (f parsedFile) pos(n ast.Node) string {
	p := f.fset.Position(n.Pos())
	return filepath.Base(filepath.Dir(p.Filename)) + "/" + filepath.Base(p.Filename) + ":" + strconv.Itoa(p.Line)
}

func parseFiles(t *testing.T, p *goPackage, names []string) []parsedFile {
	t.Helper()
	var files []parsedFile
	for _, name := range names {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, parsedFile{f, fset})
	}
	return files
}

func findPackage(t *testing.T, path string) *goPackage {
	t.Helper()
	for _, p := range listPackages(t) {
		if p.path() == path {
			return p
		}
	}
	t.Fatalf("no package %s", path)
	return nil
}

// listPackages asks go list for the packages of this module.
func listPackages(t *testing.T) []*goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Deps", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var packages []*goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(goPackage)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(fmt.Errorf("reading go list: %w", err))
		}
		packages = append(packages, p)
	}
	return packages
}
