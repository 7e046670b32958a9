package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A record holds, for each package by its path below the module's root, the
// lines of its API.
type record map[string][]string

// without returns the lines of a that b lacks.
func without(a, b record) record {
	out := record{}
	for pkg, lines := range a {
		for _, line := range lines {
			if line != "" && !slices.Contains(b[pkg], line) {
				out[pkg] = append(out[pkg], line)
			}
		}
	}
	return out
}

func union(a, b record) record {
	out := without(b, a)
	for pkg, lines := range a {
		out[pkg] = append(slices.Clone(lines), out[pkg]...)
	}
	return out
}

func (r record) list(sign string) string {
	var b strings.Builder
	for _, pkg := range slices.Sorted(maps.Keys(r)) {
		for _, line := range r[pkg] {
			fmt.Fprintf(&b, "\t%s %s: %s\n", sign, pkg, line)
		}
	}
	return b.String()
}

const (
	recordDir    = "api"
	breakingFile = recordDir + "/breaking.txt"
)

// fileOf and packageOf relate a package to its file below recordDir.
func fileOf(pkg string) string { return recordDir + "/" + pkg + ".txt" }

func packageOf(file string) (pkg string, ok bool) {
	pkg, ok = strings.CutPrefix(file, recordDir+"/")
	pkg, isText := strings.CutSuffix(pkg, ".txt")
	return pkg, ok && isText && file != breakingFile
}

func readRecord(dir string) (record, error) {
	r := record{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, recordDir, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && p == recordDir {
			return nil
		}
		if err != nil {
			return err
		}
		if pkg, ok := packageOf(p); ok && !d.IsDir() {
			data, err := fs.ReadFile(root, p)
			r[pkg] = strings.Split(strings.TrimRight(string(data), "\n"), "\n")
			return err
		}
		return nil
	})
	return r, err
}

// writeRecord replaces the record, and removes the files of packages that are
// gone.
func writeRecord(dir string, r record) error {
	old, err := readRecord(dir)
	if err != nil {
		return err
	}
	for pkg := range old {
		if _, ok := r[pkg]; !ok {
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(fileOf(pkg)))); err != nil {
				return err
			}
		}
	}
	for pkg, lines := range r {
		file := filepath.Join(dir, filepath.FromSlash(fileOf(pkg)))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readBreaking reads the accepted breaks: a reason on a line of its own, then
// each line that went away, indented, after its package.
func readBreaking(dir string) (record, error) {
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(breakingFile)))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	r := record{}
	explained := false
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.HasPrefix(line, "\t"):
			pkg, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if !ok || !explained {
				return nil, fmt.Errorf("%s:%d: want a reason on a line of its own, then indented lines in the form \"package: line of the record\"", breakingFile, i+1)
			}
			r[pkg] = append(r[pkg], rest)
		default:
			explained = strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#")
		}
	}
	return r, err
}

const breakingHead = `# Lines that went away from the record of the API since the last release, each
# group under the reason. Written by make api-update REASON="...". A release moves
# what users must know to CHANGELOG.md and empties this file.
`

func addBreaking(dir, reason string, lines record) error {
	file := filepath.Join(dir, filepath.FromSlash(breakingFile))
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte(breakingHead), os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err != nil {
		return err
	}
	var b strings.Builder
	b.Write(data)
	fmt.Fprintf(&b, "\n%s\n", strings.Join(strings.Fields(reason), " "))
	for _, pkg := range slices.Sorted(maps.Keys(lines)) {
		for _, line := range lines[pkg] {
			fmt.Fprintf(&b, "\t%s: %s\n", pkg, line)
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
