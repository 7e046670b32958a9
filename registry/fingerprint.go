package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// fingerprint returns the SHA-256 of the canonical JSON of tools.
func fingerprint[T any](tools []T) string {
	h := sha256.New()
	_, _ = h.Write([]byte{'['})
	for i, t := range tools {
		if i > 0 {
			_, _ = h.Write([]byte{','})
		}
		data, err := json.Marshal(t)
		if err == nil {
			data, err = canonical(data)
		}
		if err != nil { // cannot be listed either
			data = []byte("null")
		}
		_, _ = h.Write(data)
	}
	_, _ = h.Write([]byte{']'})
	return hex.EncodeToString(h.Sum(nil))
}

// canonical returns JSON with members sorted and nothing that could be left
// out. Numbers keep their digits.
func canonical(data []byte) ([]byte, error) {
	d, err := parseDocument(data)
	if err != nil {
		return nil, err
	}
	return d.encode(make([]byte, 0, len(data)), true), nil
}
