package tasks

import (
	"crypto/rand"
	"encoding/base32"
	"hash/crc32"
	"strings"
)

// A handle is epoch "-" random check: 26 characters (130 bits) from
// crypto/rand and 4 that check everything before them. The check tells a
// handle that was issued once, and is gone, from one that was mistyped or made
// up. It is no protection: the owner of a task is checked on every use.
const (
	randomLen = 26
	checkLen  = 4
	maxHandle = 64 // bytes; nothing longer is ever looked up
)

// handleEpoch returns what handles carry of a store's epoch: itself, or a digest
// if it is not as [Store.Epoch] asks.
func handleEpoch(epoch string) string {
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
	if len(epoch) == 0 || len(epoch) > 16 || strings.ContainsFunc(epoch, func(r rune) bool { return !plain(r) }) {
		return hash([]byte(epoch))[:16]
	}
	return epoch
}

func newHandle(epoch string) string {
	h := epoch + "-" + strings.ToLower(rand.Text()[:randomLen])
	return h + handleCheck(h)
}

// parseHandle returns the epoch of a handle that some server has issued, and
// false for anything else.
func parseHandle(h string) (epoch string, ok bool) {
	if len(h) > maxHandle || len(h) < checkLen {
		return "", false
	}
	body, check := h[:len(h)-checkLen], h[len(h)-checkLen:]
	epoch, random, found := strings.Cut(body, "-")
	if !found || len(random) != randomLen || check != handleCheck(body) {
		return "", false
	}
	return epoch, true
}

func handleCheck(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	b := []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8)}
	return strings.ToLower(base32.StdEncoding.EncodeToString(b)[:checkLen])
}

// Issued reports whether a handle was issued by a Manager on the same store. It says
// nothing about whether there is still a task behind it. It is for programs that
// pass requests for the tasks of another server on.
func (m *Manager) Issued(handle string) bool {
	epoch, ok := parseHandle(handle)
	return ok && epoch == m.epoch
}
