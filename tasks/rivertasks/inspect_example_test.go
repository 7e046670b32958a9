package rivertasks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
)

// What an operator asks, from a program of its own. A server has Store.Inspect.
func ExampleInspect() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	dsn := "sqlite:" + filepath.Join(folder, "tasks.db")
	if err := rivertasks.Migrate(ctx, dsn, nil); err != nil {
		panic(err)
	}

	seen, err := rivertasks.Inspect(ctx, dsn, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("working:", seen.Counts[tasks.Working], "waiting for a process:", seen.Waiting, "for:", seen.Oldest)
	fmt.Println("stuck:", len(seen.Stuck), "processes:", len(seen.Workers))
	// Output:
	// working: 0 waiting for a process: 0 for: 0s
	// stuck: 0 processes: 0
}
