// Matrix runs the module on the oldest Go and the oldest SDK that it supports;
// everything else in make test runs on the newest of both:
//
//	go run ./internal/matrix
//
// Every module is vetted, tests included, and the packages of the root module
// are tested, without the race detector, which the other targets use. What
// starts the go command to build something else (examples, tools of our own)
// would test that, with the versions in go.mod, and is only vetted.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	oldestGo  = "go1.25.9"
	oldestSDK = "v1.7.0"
	sdkModule = "github.com/modelcontextprotocol/go-sdk"

	// sdkSkips are the tests that need a newer SDK than the oldest: its client ends
	// the session when one request is refused as too large, and its server says of
	// every resource that others may cache it.
	sdkSkips = "^(TestEndpointRefusesLargeBodies|TestKeptResultsArePrivate)$"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if _, err := os.Stat("internal/matrix"); err != nil {
		return errors.New("run this from the root of the repository")
	}
	scratch, err := os.MkdirTemp("", "matrix")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)

	sdk, err := olderSDK(scratch)
	if err != nil {
		return err
	}
	for _, l := range []leg{
		{name: "Go " + oldestGo[len("go"):], goVersion: oldestGo},
		{name: "SDK " + oldestSDK, sdk: sdk, scratch: scratch},
	} {
		start := time.Now()
		if err := l.run(); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		fmt.Printf("== %s: fine, in %s\n", l.name, time.Since(start).Round(time.Second))
	}
	return nil
}

// A leg is one combination of versions.
type leg struct {
	name      string
	goVersion string // toolchain to use instead of the one that runs this
	sdk       string // folder of the SDK to use instead of the pinned one
	scratch   string
}

func (l leg) run() error {
	modules, err := modules()
	if err != nil {
		return err
	}
	for _, dir := range modules {
		needs, err := goDirective(dir)
		if err != nil {
			return err
		}
		if l.goVersion != "" && version.Compare("go"+needs, l.goVersion) > 0 {
			fmt.Printf("== %s: %s needs Go %s\n", l.name, dir, needs)
			continue
		}
		var flags []string
		if l.sdk != "" {
			if flags, err = l.modfile(dir); err != nil {
				return err
			}
		}
		fmt.Printf("== %s: go vet (%s)\n", l.name, dir)
		if err := l.command(dir, append(append([]string{"vet"}, flags...), "./...")...); err != nil {
			return err
		}
		if dir != "." {
			continue
		}
		packages, err := tested()
		if err != nil {
			return err
		}
		fmt.Printf("== %s: go test (%s)\n", l.name, dir)
		if l.sdk != "" {
			flags = append(flags, "-skip="+sdkSkips)
		}
		if err := l.command(dir, slices.Concat([]string{"test"}, flags, packages)...); err != nil {
			return err
		}
	}
	return nil
}

func (l leg) command(dir string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if l.goVersion != "" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+l.goVersion)
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// modfile copies the go.mod and go.sum of a module, puts the other SDK there,
// and returns the flags that make the go command use them.
func (l leg) modfile(dir string) ([]string, error) {
	file := filepath.Join(l.scratch, strings.ReplaceAll(filepath.ToSlash(dir), "/", "_")+".mod")
	for from, to := range map[string]string{"go.mod": file, "go.sum": strings.TrimSuffix(file, ".mod") + ".sum"} {
		data, err := os.ReadFile(filepath.Join(dir, from))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return nil, err
		}
	}
	return []string{"-modfile=" + file, "-mod=mod"}, l.command(dir, "mod", "edit", "-replace="+sdkModule+"="+l.sdk, file)
}

// modules are the folders with a go.mod, the root first.
func modules() ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.Name() == "go.mod" {
			dirs = append(dirs, filepath.Dir(p))
		}
		return nil
	})
	slices.Sort(dirs)
	return dirs, err
}

// goDirective returns the Go version that a module's go.mod asks for.
func goDirective(dir string) (string, error) {
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("reading %s/go.mod: %w", dir, err)
	}
	var mod struct{ Go string }
	return mod.Go, json.Unmarshal(out, &mod)
}

// tested are the packages of the root module that are tested here.
func tested() ([]string, error) {
	out, err := exec.Command("go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...").Output()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(p string) bool {
		return strings.Contains(p, "/examples/") || strings.Contains(p, "/internal/") && !strings.HasSuffix(p, "/wire")
	}), nil
}
