package tasks

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
)

// TokenKeys encrypts the tokens that records keep, with AES-256-GCM. Make one
// with [NewTokenKeys].
type TokenKeys struct {
	current string
	keys    map[string]cipher.AEAD
}

// NewTokenKeys returns keys that encrypt with the one called current and decrypt
// with any of them. A key has 32 bytes. To replace one, give every process the
// new key as well, then make it the current one everywhere, and take the old one
// away when the last task of its time has ended.
func NewTokenKeys(current string, keys map[string][]byte) (*TokenKeys, error) {
	t := &TokenKeys{current: current, keys: map[string]cipher.AEAD{}}
	for id, key := range keys {
		if len(key) != 32 {
			return nil, fmt.Errorf("tasks: the token key %q has %d bytes, not 32", id, len(key))
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		if t.keys[id], err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
	}
	if t.keys[current] == nil {
		return nil, fmt.Errorf("tasks: there is no token key %q", current)
	}
	return t, nil
}

// seal encrypts a token for one task: it cannot be moved to another one.
func (t *TokenKeys) seal(token, task, owner string) *SealedToken {
	aead := t.keys[t.current]
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // never fails
	return &SealedToken{KeyID: t.current, Bytes: aead.Seal(nonce, nonce, []byte(token), tokenContext(task, owner))}
}

func (t *TokenKeys) open(s *SealedToken, task, owner string) (string, error) {
	aead := t.keys[s.KeyID]
	if aead == nil {
		return "", fmt.Errorf("tasks: there is no token key %q", s.KeyID)
	}
	n := aead.NonceSize()
	if len(s.Bytes) < n {
		return "", errors.New("tasks: the encrypted token is damaged")
	}
	token, err := aead.Open(nil, s.Bytes[:n], s.Bytes[n:], tokenContext(task, owner))
	return string(token), err
}

func tokenContext(task, owner string) []byte {
	return fmt.Appendf(nil, "%d:%s%s", len(task), task, owner)
}
