package mcptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// RunWithPrograms is the whole of a TestMain whose tests run programs as a user
// would: it builds each package of programs, given as a path that begins with a
// dot, puts where the program is into its variable, and runs the tests.
func RunWithPrograms(m *testing.M, programs map[string]*string) {
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := 1
	if err := buildPrograms(dir, programs); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		status = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

func buildPrograms(dir string, programs map[string]*string) error {
	for pkg, program := range programs {
		from, err := filepath.Abs(pkg)
		if err != nil {
			return err
		}
		*program = filepath.Join(dir, filepath.Base(from))
		if runtime.GOOS == "windows" {
			*program += ".exe"
		}
		build := exec.Command("go", "build", "-C", from, "-o", *program, ".") // it may be in a module of its own
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building %s: %w", pkg, err)
		}
	}
	return nil
}
