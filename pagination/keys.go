package pagination

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"sync"
)

// Keys seal cursors. Every process that may be asked for the next page needs
// the same ones. They are safe for concurrent use.
type Keys struct {
	current keyID
	sealers map[keyID]cipher.AEAD
	// passing is whether the keys are gone when the process ends.
	passing bool
}

type keyID [4]byte

const minSecret = 16

// NewKeys returns keys made from secrets of at least 16 random bytes. New
// cursors are sealed with current; those sealed with one of older are still
// opened. To rotate, start every process with the new secret among older, then
// make it current, and drop the old one when the last cursor of it has expired.
func NewKeys(current []byte, older ...[]byte) (*Keys, error) {
	k := &Keys{sealers: make(map[keyID]cipher.AEAD, 1+len(older))}
	for i, secret := range append([][]byte{current}, older...) {
		if len(secret) < minSecret {
			return nil, fmt.Errorf("pagination: secret %d has %d bytes; %d are the least", i, len(secret), minSecret)
		}
		id, sealer, err := deriveKey(secret)
		if err != nil {
			return nil, fmt.Errorf("pagination: secret %d: %w", i, err)
		}
		k.sealers[id] = sealer
		if i == 0 {
			k.current = id
		}
	}
	return k, nil
}

// deriveKey makes the AES key and a name for it from a secret; the name tells
// nothing about either.
func deriveKey(secret []byte) (id keyID, sealer cipher.AEAD, err error) {
	derived, err := hkdf.Key(sha256.New, secret, nil, "steady/pagination cursor 1", 32+len(id))
	if err != nil {
		return id, nil, err
	}
	copy(id[:], derived[32:])
	block, err := aes.NewCipher(derived[:32])
	if err != nil {
		return id, nil, err
	}
	sealer, err = cipher.NewGCM(block)
	return id, sealer, err
}

// processKeys are random and shared by the whole process, so that a server
// that builds its pagers anew for every request can follow its own cursors.
var processKeys = sync.OnceValue(func() *Keys {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails, see its documentation
	k, err := NewKeys(secret)
	if err != nil {
		panic("pagination: " + err.Error()) // the secret is long enough, AES and GCM take its derivate
	}
	k.passing = true
	return k
})

// A sealed cursor is tokenPrefix and then, in base64, the key's name, a nonce
// and the sealed content. The prefix says what it is and in which version, and
// is authenticated with it.
const (
	tokenPrefix = "pc1_"
	nonceSize   = 12
	sealSize    = len(keyID{}) + nonceSize + 16
	// maxToken is the longest cursor that is made or looked at, in bytes.
	maxToken = 4096
)

// The strict decoding refuses what decodes to the same bytes as another token.
var tokenEncoding = base64.RawURLEncoding.Strict()

// maxContent is how many bytes of content fit in maxToken.
var maxContent = base64.RawURLEncoding.DecodedLen(maxToken-len(tokenPrefix)) - sealSize

func (k *Keys) seal(content []byte) string {
	// One buffer: content sits behind the name and the nonce already.
	buf := make([]byte, len(keyID{})+nonceSize, sealSize+len(content))
	copy(buf, k.current[:])
	nonce := buf[len(keyID{}):]
	_, _ = rand.Read(nonce)
	buf = k.sealers[k.current].Seal(buf, nonce, content, []byte(tokenPrefix))
	token := make([]byte, len(tokenPrefix)+tokenEncoding.EncodedLen(len(buf)))
	copy(token, tokenPrefix)
	tokenEncoding.Encode(token[len(tokenPrefix):], buf)
	return string(token)
}

// open returns the content of a token that carries the prefix.
func (k *Keys) open(token string) ([]byte, openError) {
	if len(token) > maxToken {
		return nil, tooLong
	}
	buf, err := tokenEncoding.DecodeString(token[len(tokenPrefix):])
	// The decoder skips line ends, so that a token with one would have a twin.
	if err != nil || len(buf) < sealSize || tokenEncoding.EncodedLen(len(buf)) != len(token)-len(tokenPrefix) {
		return nil, damaged
	}
	sealer, ok := k.sealers[keyID(buf)]
	if !ok {
		return nil, unknownKey
	}
	buf = buf[len(keyID{}):]
	content, err := sealer.Open(buf[nonceSize:nonceSize], buf[:nonceSize], buf[nonceSize:], []byte(tokenPrefix))
	if err != nil {
		return nil, damaged
	}
	return content, opened
}

type openError int

const (
	opened openError = iota
	damaged
	unknownKey
	tooLong
)
