package config

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Size is a number of bytes. In a file it is a number, or one with a unit.
type Size int

// A Rate is calls per second. In a file it is "10/s", "300/m" or "1000/h".
type Rate float64

// A Date is a day in UTC, as 2027-01-31.
type Date string

// A Pattern is a name in which * stands for any characters and ? for one.
type Pattern string

// Matches reports whether the name fits the pattern.
func (p Pattern) Matches(name string) bool {
	ok, _ := path.Match(strings.ReplaceAll(string(p), "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok
}

// A Grace is a duration, or Eager.
type Grace time.Duration

// Eager is the grace of a caller that does not wait at all.
const Eager = Grace(-1)

const maxSize = 1 << 40

var sizeForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?(B|kB|KB|MB|GB|KiB|MiB|GiB)?$`)

var units = map[string]float64{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

const sizeIs = "a number of bytes above zero, such as 80000, 80kB or 4MiB"

func parseSize(text string) (Size, error) {
	m := sizeForm.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("want %s", sizeIs)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if n *= units[m[2]]; err != nil || n < 1 || n > maxSize {
		return 0, fmt.Errorf("want %s", sizeIs)
	}
	return Size(n), nil
}

const durationIs = "a duration above zero, such as 500ms, 50s, 15m or 1h30m"

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("want %s", durationIs)
	}
	return d, nil
}

var rateForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?/ ?(s|m|h)$`)

const rateIs = "a number of calls and a unit of time, such as 10/s, 300/m or 1000/h"

func parseRate(text string) (Rate, error) {
	m := rateForm.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("want %s", rateIs)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	n /= map[string]float64{"s": 1, "m": 60, "h": 3600}[m[2]]
	if err != nil || n <= 0 || n > 1e9 {
		return 0, fmt.Errorf("want %s", rateIs)
	}
	return Rate(n), nil
}

const dateIs = "a day, such as 2027-01-31"

func parseDate(text string) (Date, error) {
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return "", fmt.Errorf("want %s", dateIs)
	}
	return Date(text), nil
}

const patternIs = "a name in which * stands for any characters and ? for one"

func parsePattern(text string) (Pattern, error) {
	if _, err := path.Match(text, ""); err != nil || text == "" {
		return "", fmt.Errorf("want %s", patternIs)
	}
	return Pattern(text), nil
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces ${NAME} by what the environment has. "$$" is a "$".
func expand(text string, lookup func(string) (string, bool)) (string, error) {
	var missing string
	parts := strings.Split(text, "$$")
	for i, part := range parts {
		parts[i] = variable.ReplaceAllStringFunc(part, func(ref string) string {
			value, ok := lookup(ref[2 : len(ref)-1])
			if !ok && missing == "" {
				missing = ref
			}
			return value
		})
	}
	if missing != "" {
		return "", fmt.Errorf("%s is not in the environment", missing)
	}
	return strings.Join(parts, "$"), nil
}
