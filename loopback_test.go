package steady

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"localhost":              true,
		"localhost:8080":         true,
		"127.0.0.1":              true,
		"127.9.9.9:80":           true,
		"[::1]":                  true,
		"[::1]:80":               true,
		"[::ffff:127.0.0.1]:80":  true,
		"":                       false,
		":80":                    false,
		"evil.example":           false,
		"localhost.evil.example": false,
		"evil.example:80":        false,
		"10.0.0.1:80":            false,
		"0.0.0.0:80":             false,
		"[::]:80":                false,
		"127.0.0.1.evil.example": false,
		"127.0.0.1@evil.example": false,
		"/run/papers.sock":       false,
		"localhost:80:80":        false,
		"127.0.0.1:80\r\nX: y":   false,
		"2130706433":             false,
	} {
		require.Equal(t, want, isLoopback(address), address)
	}
}
