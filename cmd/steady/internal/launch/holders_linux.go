package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// pipeOf returns what /proc calls the pipe behind f.
func pipeOf(f *os.File) string {
	// Reading the link does not need f's descriptor number, which File.Fd
	// would give at the price of making f blocking.
	conn, err := f.SyscallConn()
	if err != nil {
		return ""
	}
	var name string
	_ = conn.Control(func(fd uintptr) {
		name, _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd)))
	})
	return name
}

// A Holder is a process that has the server's pipe.
type Holder struct {
	PID, Parent int
	Name        string
}

// Holders returns the processes of our server, and their descendants, that have
// the given pipe under descriptor fd. It works on Linux only.
func (p *Process) Holders(fd int, pipe string) []Holder {
	if pipe == "" {
		return nil
	}
	parents := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		// The name is in parentheses and may hold anything.
		rest := stat[bytes.LastIndexByte(stat, ')')+1:]
		if fields := strings.Fields(string(rest)); len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	var out []Holder
	for pid := range parents {
		if !descends(parents, pid, p.PID()) {
			continue
		}
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		if link, err := os.Readlink(filepath.Join(dir, "fd", strconv.Itoa(fd))); err != nil || link != pipe {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		out = append(out, Holder{pid, parents[pid], string(bytes.TrimSpace(name))})
	}
	slices.SortFunc(out, func(a, b Holder) int { return a.PID - b.PID })
	return out
}

func descends(parents map[int]int, pid, from int) bool {
	for range 64 {
		if pid == from {
			return true
		}
		pid = parents[pid]
		if pid <= 1 {
			return false
		}
	}
	return false
}
