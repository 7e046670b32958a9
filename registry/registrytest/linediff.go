package registrytest

import "strings"

// Bounds on the comparison: beyond them the middle is shown as replaced.
const (
	maxDiffLines = 2000
	contextLines = 3
)

// lineDiff shows which lines differ, with some of those around them.
func lineDiff(old, now string) string {
	a, b := strings.Split(strings.TrimSuffix(old, "\n"), "\n"), strings.Split(strings.TrimSuffix(now, "\n"), "\n")
	type line struct {
		mark byte
		text string
	}
	var lines []line
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		lines = append(lines, line{' ', a[head]})
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(x) > maxDiffLines || len(y) > maxDiffLines {
		for _, s := range x {
			lines = append(lines, line{'-', s})
		}
		for _, s := range y {
			lines = append(lines, line{'+', s})
		}
	} else {
		// same[i][j] is the length of the longest common part of x[i:] and y[j:].
		same := make([][]int, len(x)+1)
		for i := range same {
			same[i] = make([]int, len(y)+1)
		}
		for i := len(x) - 1; i >= 0; i-- {
			for j := len(y) - 1; j >= 0; j-- {
				if x[i] == y[j] {
					same[i][j] = same[i+1][j+1] + 1
				} else {
					same[i][j] = max(same[i+1][j], same[i][j+1])
				}
			}
		}
		for i, j := 0, 0; i < len(x) || j < len(y); {
			switch {
			case i < len(x) && j < len(y) && x[i] == y[j]:
				lines = append(lines, line{' ', x[i]})
				i++
				j++
			case j == len(y) || i < len(x) && same[i+1][j] >= same[i][j+1]:
				lines = append(lines, line{'-', x[i]})
				i++
			default:
				lines = append(lines, line{'+', y[j]})
				j++
			}
		}
	}
	for _, s := range a[len(a)-tail:] {
		lines = append(lines, line{' ', s})
	}
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l.mark != ' ' {
			for j := max(0, i-contextLines); j <= min(len(lines)-1, i+contextLines); j++ {
				near[j] = true
			}
		}
	}
	var out strings.Builder
	for i, l := range lines {
		if near[i] {
			out.WriteByte(l.mark)
			out.WriteByte(' ')
			out.WriteString(l.text)
			out.WriteByte('\n')
		} else if i > 0 && near[i-1] {
			out.WriteString("  ...\n")
		}
	}
	return out.String()
}
