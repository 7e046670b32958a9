package catalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/steadymcp/steady/errors"
)

// A Source provides the entries of a catalog. It must be safe for concurrent
// use.
type Source interface {
	// Load returns the entries. have is the version that the caller holds, or
	// "" for none; a source that knows that it still is the current one returns
	// [ErrUnchanged] instead.
	Load(ctx context.Context, have string) (*Snapshot, error)
}

// ErrUnchanged is what a [Source] returns if the caller's version is current.
var ErrUnchanged = errors.New("catalog: unchanged")

// A Snapshot is what a source provides at one time.
type Snapshot struct {
	// Version changes when the entries do.
	Version string
	Entries []Entry
	// Problems are entries that the source had to leave out.
	Problems []Problem
}

// A Problem says why an entry was left out of the catalog.
type Problem struct {
	ID  string // if it has one
	Err error
}

func (p Problem) Error() string { return fmt.Sprintf("entry %q: %v", clip(p.ID, 140), p.Err) }

// Unwrap returns the reason.
func (p Problem) Unwrap() error { return p.Err }

// Static returns a source of fixed entries. They must not be changed
// afterwards.
func Static(entries ...Entry) Source {
	b, _ := json.Marshal(entries) // raw JSON that is malformed shows when it is compiled
	return staticSource{&Snapshot{Version: fingerprint(b), Entries: entries}}
}

// JSON returns a source of the entries in a document: a list of them, or an
// object {"version": ..., "entries": [...]}. The version is a label for the
// event of a refresh: whether anything changed, the whole document tells. A
// malformed entry is a [Problem]
// of the snapshot; only a malformed document is an error.
func JSON(document []byte) (Source, error) {
	s, err := parseSnapshot(document)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return staticSource{s}, nil
}

type staticSource struct{ snapshot *Snapshot }

func (s staticSource) Load(_ context.Context, have string) (*Snapshot, error) {
	if have == s.snapshot.Version {
		return nil, ErrUnchanged
	}
	return s.snapshot, nil
}

func fingerprint(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:8])
}

func parseSnapshot(document []byte) (*Snapshot, error) {
	document = bytes.TrimPrefix(document, []byte("\xef\xbb\xbf"))
	var raw []json.RawMessage
	version := ""
	if trimmed := bytes.TrimSpace(document); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(trimmed, &raw); err != nil {
			return nil, fmt.Errorf("the document is not a list of entries: %w", err)
		}
	} else {
		var d struct {
			Version json.RawMessage   `json:"version"`
			Entries []json.RawMessage `json:"entries"`
		}
		if err := json.Unmarshal(document, &d); err != nil {
			return nil, fmt.Errorf("the document is not a catalog: %w", err)
		}
		if d.Entries == nil {
			return nil, fmt.Errorf("the document has no entries")
		}
		raw = d.Entries
		if json.Unmarshal(d.Version, &version) != nil {
			version = string(d.Version)
		}
	}
	if len(raw) > maxEntries {
		return nil, fmt.Errorf("the document has %d entries, more than %d", len(raw), maxEntries)
	}
	s := &Snapshot{Version: fingerprint(document)}
	if version != "" {
		s.Version = clip(version, 128) + "-" + s.Version // whoever forgets to count up is forgiven
	}
	for _, r := range raw {
		var e Entry
		if err := json.Unmarshal(r, &e); err != nil {
			var id struct{ ID json.RawMessage }
			_ = json.Unmarshal(r, &id)
			s.Problems = append(s.Problems, Problem{ID: string(bytes.Trim(id.ID, `"`)), Err: err})
			continue
		}
		s.Entries = append(s.Entries, e)
	}
	return s, nil
}
