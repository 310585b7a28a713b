package main

// target is a system to build for.
type target struct{ os, arch, variant string }

func targets() []target {
	return []target{
		{"linux", "amd64", "v1"},
		{"linux", "arm64", "v8.0"},
		{"linux", "arm", "7"},
		{"darwin", "amd64", "v1"},
		{"darwin", "arm64", "v8.0"},
		{"windows", "amd64", "v1"},
		{"freebsd", "amd64", "v1"},
	}
}

func (t target) String() string { return t.os + "/" + t.arch }

// name is how files of the target are called.
func (t target) name() string {
	if t.arch == "arm" {
		return t.os + "_armv" + t.variant
	}
	return t.os + "_" + t.arch
}

// program is the file name of the agent.
func (t target) program() string {
	if t.os == "windows" {
		return "yacron2.exe"
	}
	return "yacron2"
}

// environment is what the compiler needs to know. It leaves nothing to the settings of
// whoever builds.
func (t target) environment() []string {
	env := []string{"CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOOS=" + t.os, "GOARCH=" + t.arch}
	switch t.arch {
	case "amd64":
		env = append(env, "GOAMD64="+t.variant)
	case "arm64":
		env = append(env, "GOARM64="+t.variant)
	case "arm":
		env = append(env, "GOARM="+t.variant)
	}
	return env
}

// debian is the name that Debian has for the target, "" if there is no package for it.
func (t target) debian() string {
	switch t.String() {
	case "linux/amd64":
		return "amd64"
	case "linux/arm64":
		return "arm64"
	case "linux/arm":
		return "armhf"
	}
	return ""
}
