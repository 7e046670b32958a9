package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// olderSDK copies the oldest SDK to a folder below scratch, with one change for
// the tests: its client can be told which revision of the protocol to speak, as
// v1.8.0's can. In v1.7.0 that field is there but not exported. Nothing that a
// server uses is touched.
func olderSDK(scratch string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", sdkModule+"@"+oldestSDK).Output()
	if err != nil {
		return "", fmt.Errorf("downloading the SDK %s: %w\n%s", oldestSDK, err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", err
	}
	dir := filepath.Join(scratch, "sdk")
	if err := os.CopyFS(dir, os.DirFS(module.Dir)); err != nil {
		return "", err
	}
	client := filepath.Join(dir, "mcp", "client.go")
	data, err := os.ReadFile(client)
	if err != nil {
		return "", err
	}
	text := string(data)
	for _, use := range []string{"\tprotocolVersion string\n", "opts.protocolVersion != \"\"", "= opts.protocolVersion\n"} {
		if strings.Count(text, use) != 1 {
			return "", fmt.Errorf("the SDK %s has %d times %q, not once", oldestSDK, strings.Count(text, use), use)
		}
		text = strings.Replace(text, use, strings.Replace(use, "protocolVersion", "ProtocolVersion", 1), 1)
	}
	return dir, os.WriteFile(client, []byte(text), 0o644)
}
