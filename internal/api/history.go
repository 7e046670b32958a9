package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// everRecorded returns the lines that left the record since the last release,
// or since there is a record where nothing was released. It finds what was
// deleted from the record by hand. Where there is no git, or only a shallow
// clone, it finds less, and nothing is refused for that.
func everRecorded(dir string) (record, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", fmt.Errorf("git %s: %s", strings.Join(args, " "), strings.TrimSpace(string(exit.Stderr)))
		}
		return string(out), err
	}
	if _, err := git("rev-parse", "--verify", "-q", "HEAD"); err != nil {
		return record{}, nil
	}
	commits := "HEAD"
	if tag, err := git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"); err == nil {
		commits = strings.TrimSpace(tag) + "..HEAD"
	}
	diff, err := git("log", "--format=", "-p", "-m", "--first-parent", "--unified=0", "--no-renames", "--no-color", "--no-ext-diff",
		"--src-prefix=a/", "--dst-prefix=b/", "--relative", commits, "--", recordDir)
	if err != nil {
		return nil, err
	}
	r := record{}
	pkg, ok := "", false
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\n")
		if file, isHead := strings.CutPrefix(line, "--- "); isHead {
			pkg, ok = packageOf(strings.TrimPrefix(file, "a/"))
		} else if text, isGone := strings.CutPrefix(line, "-"); isGone && ok && text != "" && !slices.Contains(r[pkg], text) {
			r[pkg] = append(r[pkg], text)
		}
	}
	return r, nil
}
