// Command cgo is a guarded server whose one tool writes to standard output
// from C, in each of the ways that a C library has.
package main

/*
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int writes(void) {
	if (printf("stray printf\n") < 0 || fflush(stdout) != 0) return 1;
	if (puts("stray puts") < 0 || fflush(stdout) != 0) return 2;
	if (write(1, "stray write\n", 12) != 12) return 3;
	if (dprintf(1, "stray dprintf\n") < 0) return 4;
	if (system("echo stray system") != 0) return 5;
	FILE *p = popen("cat >&1", "w");
	if (p == NULL || fputs("stray popen\n", p) < 0 || pclose(p) != 0) return 6;
	int c = getchar(); // standard input is the null device
	if (c != EOF) return 7;
	return 0;
}
*/
import "C"

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/stdioguard"
)

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "cgo", Version: "v0.0.1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "c"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		if n := C.writes(); n != 0 {
			return nil, nil, fmt.Errorf("step %d failed", n)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "written"}}}, nil, nil
	})
	if err := stdioguard.Run(context.Background(), server); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
