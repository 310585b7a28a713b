package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/yacron2/yacron2/api"
)

// contract is the description of the API, as far as tests hold answers to it.
type contract struct{ doc map[string]any }

// described reads the description once.
var described = sync.OnceValues(func() (*contract, error) {
	c := &contract{}
	return c, yaml.Unmarshal(openAPI, &c.doc)
})

func theContract(t testing.TB) *contract {
	t.Helper()
	c, err := described()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// at returns what lies at a path of keys, nil if nothing does.
func at(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// resolve follows a reference.
func (c *contract) resolve(v any) any {
	for {
		ref, ok := at(v, "$ref").(string)
		if !ok {
			return v
		}
		v = at(c.doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
}

// operation is one method of one path.
type operation struct {
	method, path string
	spec         any
}

func (o operation) String() string { return o.method + " " + o.path }

func (c *contract) operations() []operation {
	var list []operation
	paths, _ := at(c.doc, "paths").(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, _ := paths[path].(map[string]any)
		for _, method := range []string{"get", "post", "put", "delete", "patch"} {
			if spec, ok := item[method]; ok {
				list = append(list, operation{strings.ToUpper(method), path, spec})
			}
		}
	}
	return list
}

// find returns the operation of a request, nil if it is none.
func (c *contract) find(method, escaped string) *operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, op := range c.operations() {
		if _, ok := match(op.path, escaped); ok && op.method == method {
			return &op
		}
	}
	return nil
}

// check reports how an answer differs from what is described.
func (c *contract) check(method, escaped string, status int, header http.Header, body []byte) error {
	op := c.find(method, escaped)
	if status == http.StatusNotModified {
		if op == nil || at(op.spec, "responses", "304") == nil || len(body) > 0 {
			return fmt.Errorf("status %d is not described, or has a body", status)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("content type %q: %w", header.Get("Content-Type"), err)
	}
	if op == nil {
		switch status {
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnauthorized, http.StatusForbidden, http.StatusMisdirectedRequest:
			return nil // no such route
		}
		return fmt.Errorf("status %d of a path that is not described", status)
	}
	response := c.resolve(at(op.spec, "responses", fmt.Sprint(status)))
	if response == nil {
		return fmt.Errorf("status %d is not described", status)
	}
	content := at(response, "content", media)
	if content == nil {
		return fmt.Errorf("status %d: the media type %s is not described", status, media)
	}
	schema := at(content, "schema")
	switch {
	case media == "application/json":
		return c.checkJSON(schema, body)
	case media == "text/event-stream":
		for _, event := range bytes.Split(body, []byte("\n\n")) {
			for line := range bytes.Lines(event) {
				if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
					if err := c.checkJSON(schema, data); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	return c.conforms(schema, string(body), "body")
}

func (c *contract) checkJSON(schema any, body []byte) error {
	for _, b := range body {
		if b >= utf8.RuneSelf {
			return fmt.Errorf("not plain ASCII: %s", body)
		}
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return fmt.Errorf("%w in %s", err, body)
	}
	return c.conforms(schema, v, "body")
}

// conforms reports where a value does not follow a schema.
func (c *contract) conforms(schema, v any, where string) error {
	s, ok := c.resolve(schema).(map[string]any)
	if !ok {
		return fmt.Errorf("%s: no schema", where)
	}
	bad := func(format string, args ...any) error { return fmt.Errorf(where+": "+format, args...) }
	for keyword, want := range s {
		switch keyword {
		case "type":
			if !slices.ContainsFunc(listOf(want), func(kind any) bool { return isOf(kind, v) }) {
				return bad("%v is not of type %v", v, want)
			}
		case "const":
			if v != want {
				return bad("%v is not %v", v, want)
			}
		case "enum":
			if !slices.Contains(want.([]any), v) {
				return bad("%v is none of %v", v, want)
			}
		case "anyOf", "oneOf":
			matching := 0
			var errs []string
			for _, one := range want.([]any) {
				if err := c.conforms(one, v, where); err == nil {
					matching++
				} else {
					errs = append(errs, err.Error())
				}
			}
			if matching == 0 || keyword == "oneOf" && matching > 1 {
				return bad("%d of %s match: %s", matching, keyword, strings.Join(errs, "; "))
			}
		case "pattern", "minLength", "maxLength":
			if text, ok := v.(string); ok && !fits(keyword, want, text) {
				return bad("%.100q violates %s %v", text, keyword, want)
			}
		case "minimum", "maximum":
			if n, ok := v.(float64); ok && (keyword == "minimum" && n < number(want) || keyword == "maximum" && n > number(want)) {
				return bad("%v violates %s %v", n, keyword, want)
			}
		case "minItems", "maxItems":
			if list, ok := v.([]any); ok && (keyword == "minItems" && len(list) < want.(int) || keyword == "maxItems" && len(list) > want.(int)) {
				return bad("%d items violate %s %v", len(list), keyword, want)
			}
		case "items":
			list, _ := v.([]any)
			for i, item := range list {
				if err := c.conforms(want, item, fmt.Sprintf("%s[%d]", where, i)); err != nil {
					return err
				}
			}
		case "required":
			object, ok := v.(map[string]any)
			for _, key := range want.([]any) {
				if _, has := object[key.(string)]; ok && !has {
					return bad("%v is missing", key)
				}
			}
		case "properties", "additionalProperties":
			object, _ := v.(map[string]any)
			for key, value := range object {
				schema, known := at(s, "properties", key), at(s, "properties", key) != nil
				if !known {
					if schema = s["additionalProperties"]; schema == false {
						return bad("%s is not described", key)
					}
				}
				if _, ok := schema.(map[string]any); ok {
					if err := c.conforms(schema, value, where+"."+key); err != nil {
						return err
					}
				}
			}
		case "description", "default", "format":
		default:
			return bad("the keyword %s is not known here", keyword)
		}
	}
	return nil
}

func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func number(v any) float64 {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return v.(float64)
}

func isOf(kind, v any) bool {
	switch v := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case float64:
		return kind == "number" || kind == "integer" && v == float64(int64(v))
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	}
	return false
}

func fits(keyword string, want any, text string) bool {
	switch keyword {
	case "pattern":
		return regexp.MustCompile(want.(string)).MatchString(text)
	case "minLength":
		return utf8.RuneCountInString(text) >= want.(int)
	}
	return utf8.RuneCountInString(text) <= want.(int)
}

// conforming holds every answer of a handler to the description, and counts the streams
// that have begun.
func conforming(t testing.TB, next http.Handler, begun *atomic.Int64) http.Handler {
	c := theContract(t)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watched := &watchedAnswer{ResponseWriter: w, status: http.StatusOK, begun: begun}
		method, path := r.Method, r.URL.EscapedPath()
		next.ServeHTTP(watched, r)
		if r.Context().Err() != nil && len(w.Header()) == 0 {
			return // who asked has left, so that there is no answer
		}
		if err := c.check(method, path, watched.status, w.Header(), watched.body.Bytes()); err != nil {
			t.Errorf("%s %s: %v", method, path, err)
		}
	})
}

// watchedAnswer remembers an answer while it is given.
type watchedAnswer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
	begun  *atomic.Int64
}

func (w *watchedAnswer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *watchedAnswer) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
	if w.Header().Get("Content-Type") == "text/event-stream" {
		w.begun.Add(1)
	}
}

func (w *watchedAnswer) Write(p []byte) (int, error) {
	// Streams are written event by event, and their beginning tells enough.
	if w.body.Len() < 64<<10 || w.Header().Get("Content-Type") != "text/event-stream" {
		w.body.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// watch holds every answer of the agent to the description from now on.
func (a *testAgent) watch() {
	a.web.api = conforming(a.t, a.web.api, &a.begun)
	g := *a.web.guard.Load()
	g.next = a.web.api
	a.web.guard.Store(&g)
}

// operating are the paths that a token that may only read does not open.
var operating = func() map[string]bool {
	paths := map[string]bool{}
	for _, r := range (&httpAPI{}).routes() {
		if r.scope > scopeRead {
			paths[r.pattern] = true
		}
	}
	return paths
}()

func TestOpenAPIFollowsTheRouter(t *testing.T) {
	routes := map[string]bool{}
	for _, r := range (&httpAPI{}).routes() {
		routes[r.method+" "+r.pattern] = true
	}
	for _, op := range theContract(t).operations() {
		if !routes[op.String()] {
			t.Errorf("%s is described, and there is no such route", op)
		}
		delete(routes, op.String())
	}
	for route := range routes {
		t.Errorf("%s is not described", route)
	}
}

// The description is whole in itself: what it refers to is there and used, and words
// that mean nothing would be typing errors.
func TestOpenAPIIsWhole(t *testing.T) {
	c := theContract(t)
	if c.doc["openapi"] != "3.1.0" {
		t.Errorf("version %v", c.doc["openapi"])
	}
	used := map[string]bool{}
	var walk func(v any, where string)
	walk = func(v any, where string) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				used[ref] = true
				if len(v) != 1 || c.resolve(v) == nil {
					t.Errorf("%s: the reference %s leads nowhere, or has company", where, ref)
				}
			}
			for key, value := range v {
				walk(value, where+"/"+key)
			}
		case []any:
			for i, value := range v {
				walk(value, fmt.Sprintf("%s/%d", where, i))
			}
		}
	}
	walk(c.doc, "#")
	components, _ := c.doc["components"].(map[string]any)
	for kind, list := range components {
		if kind == "securitySchemes" {
			continue
		}
		for name := range list.(map[string]any) {
			if ref := "#/components/" + kind + "/" + name; !used[ref] {
				t.Errorf("%s is not used", ref)
			}
		}
	}
	schemas, _ := components["schemas"].(map[string]any)
	for name, schema := range schemas {
		c.knows(t, schema, name)
	}
	ids := map[any]bool{}
	var tags []any
	for _, tag := range c.doc["tags"].([]any) {
		tags = append(tags, at(tag, "name"))
	}
	for _, op := range c.operations() {
		id := at(op.spec, "operationId")
		if id == nil || ids[id] {
			t.Errorf("%s: operation id %v", op, id)
		}
		ids[id] = true
		if summary, _ := at(op.spec, "summary").(string); !strings.HasSuffix(summary, ".") {
			t.Errorf("%s: summary %q", op, summary)
		}
		for _, tag := range at(op.spec, "tags").([]any) {
			if !slices.Contains(tags, tag) {
				t.Errorf("%s: tag %v", op, tag)
			}
		}
		c.checkParameters(t, op)
		open := at(op.spec, "security") != nil
		responses := at(op.spec, "responses").(map[string]any)
		for _, status := range []string{"401", "421", "429"} {
			if _, has := responses[status]; has == open {
				t.Errorf("%s: status %s", op, status)
			}
		}
		if _, has := responses["403"]; has != (op.method == http.MethodPost || operating[op.path]) {
			t.Errorf("%s: status 403", op)
		}
		for status, response := range responses {
			response = c.resolve(response)
			if at(response, "description") == nil {
				t.Errorf("%s: status %s has no description", op, status)
			}
			content, _ := at(response, "content").(map[string]any)
			for media, value := range content {
				c.knows(t, at(value, "schema"), op.String()+" "+status+" "+media)
			}
		}
	}
}

// checkParameters compares the parameters in a path with those that are described.
func (c *contract) checkParameters(t *testing.T, op operation) {
	t.Helper()
	var inPath []string
	for segment := range strings.SplitSeq(op.path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			inPath = append(inPath, strings.TrimSuffix(name, "}"))
		}
	}
	all, _ := at(c.doc, "paths", op.path, "parameters").([]any)
	own, _ := at(op.spec, "parameters").([]any)
	var described []string
	for _, p := range append(slices.Clone(all), own...) {
		p = c.resolve(p)
		c.knows(t, at(p, "schema"), fmt.Sprintf("%s parameter %v", op, at(p, "name")))
		if at(p, "in") == "path" {
			described = append(described, at(p, "name").(string))
		}
	}
	if !slices.Equal(inPath, described) {
		t.Errorf("%s: parameters %q are described", op, described)
	}
}

// knows checks that a schema has only keywords that are understood, with values of
// their kind: conforms would fail, or panic, on any other.
func (c *contract) knows(t *testing.T, schema any, where string) {
	t.Helper()
	defer func() {
		if problem := recover(); problem != nil {
			t.Errorf("schema of %s: %v", where, problem)
		}
	}()
	for _, v := range []any{nil, true, 1.5, 3.0, "x", []any{}, map[string]any{}} {
		if err := c.conforms(schema, v, where); err != nil && strings.Contains(err.Error(), "keyword") {
			t.Error(err)
		}
	}
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	for key, value := range properties {
		c.knows(t, value, where+"."+key)
	}
	required, _ := s["required"].([]any)
	for _, key := range required {
		if properties[key.(string)] == nil {
			t.Errorf("schema of %s: %v is required, and not described", where, key)
		}
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if _, ok := s[inner].(map[string]any); ok {
			c.knows(t, s[inner], where+"."+inner)
		}
	}
}

// Every field of the client's types is described, and the other way round.
func TestOpenAPIHasEveryField(t *testing.T) {
	c := theContract(t)
	for path, value := range map[string]any{
		"Error": api.ErrorBody{}, "Health": api.Health{}, "JobSetID": api.JobSetID{}, "Problem": api.Problem{}, "ConfigStatus": api.ConfigStatus{},
		"Pause": api.Pause{}, "PauseRequest": api.PauseRequest{}, "Run": api.Run{}, "Missed": api.Missed{},
		"Job": api.Job{}, "Job history": api.HistoryEntry{}, "Runs": api.Runs{}, "Runs stats": api.Stats{},
		"Next": api.Next{}, "Firing": api.Firing{}, "SchedulePreview": api.SchedulePreview{}, "ScheduleError": api.ScheduleError{}, "Why": api.Why{}, "Why now": api.WhyNow{}, "Why decisions": api.Decision{},
		"LogLine": api.LogLine{}, "LogEnd": api.LogEnd{}, "Event": api.Event{}, "AgentLine": api.AgentLine{}, "Role": api.Role{}, "Event member": api.Member{}, "Event reload": api.Reload{},
		"Cluster": api.Cluster{}, "Peer": api.Peer{}, "Fleet": api.Fleet{}, "Fleet nodes": api.FleetNode{}, "JobSummary": api.JobSummary{}, "JobSummary last": api.LastSummary{},
	} {
		name, inner, nested := strings.Cut(path, " ")
		schema := at(c.doc, "components", "schemas", name)
		if nested {
			schema = at(schema, "properties", inner)
			if items := at(schema, "items"); items != nil {
				schema = items
			}
		}
		properties, _ := at(schema, "properties").(map[string]any)
		var required []string
		if list, ok := at(schema, "required").([]any); ok {
			for _, key := range list {
				required = append(required, key.(string))
			}
		}
		fields := map[string]bool{}
		for field := range reflect.TypeOf(value).Fields() {
			key, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			if key == "-" {
				continue
			}
			fields[key] = true
			if properties[key] == nil {
				t.Errorf("%s.%s is not described", path, key)
			}
			if always := options == ""; always != slices.Contains(required, key) && name != "Problem" {
				t.Errorf("%s.%s: always there %v", path, key, always)
			}
		}
		for key := range properties {
			if !fields[key] {
				t.Errorf("%s.%s is described, and there is no such field", path, key)
			}
		}
	}
}
