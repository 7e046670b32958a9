package launch

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// A descendant is a process that the server has started.
type descendant struct {
	pid   int
	began string // so that a later process with its id is not taken for it
}

// descendants returns what the server has started, and what that has. After the
// server's end it would find nothing: who outlives it has another parent then.
func (p *Process) descendants() (out []descendant) {
	queue := []int{p.PID()}
	for i := 0; i < len(queue) && i < maxDescendants; i++ {
		for _, pid := range children("/proc/" + strconv.Itoa(queue[i])) {
			queue = append(queue, pid)
			if began, ok := began(pid); ok {
				out = append(out, descendant{pid, began})
			}
		}
	}
	return out
}

// began returns when a process began, in ticks since the system did, and whether
// it still runs.
func began(pid int) (string, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	// The name, in parentheses, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || string(fields[0]) == "Z" {
		return "", false
	}
	return string(fields[19]), true
}

func (d descendant) runs() bool {
	now, ok := began(d.pid)
	return ok && now == d.began
}

func (d descendant) kill() {
	if d.runs() {
		_ = syscall.Kill(d.pid, syscall.SIGKILL)
	}
}
