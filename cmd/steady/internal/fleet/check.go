package fleet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// A Report is what [Check] has found.
type Report struct {
	// Missing says of each server that could not be used why.
	Missing []string
	// Collisions are sorted by kind and name.
	Collisions []Collision
	// Counts says how many of each kind are listed.
	Counts map[string]int
}

// us is who asks.
const us = `{"name":"steady-proxy","version":"1"}`

// Check starts the servers, lists what they have, and ends them again.
func Check(ctx context.Context, opts Options) (*Report, error) {
	none, end := io.Pipe()
	opts.In, opts.Out = none, io.Discard
	f, err := newFleet(opts)
	if err != nil {
		return nil, err
	}
	defer f.log.Close()
	ended := f.start(ctx)
	defer func() {
		_ = end.Close()
		f.finish()
		<-ended
	}()
	f.begin(session{params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":` + us + `}`)})
	there, missing := f.gather(ctx)
	var params []byte // of each request
	for _, c := range there {
		c.tell(notification("notifications/initialized", nil))
	}
	if len(there) == 0 { // perhaps they do without a handshake
		meta := []byte(`{"` + metaRevision + `":"` + rpc.Stateless + `","` + metaCapabilities + `":{},"io.modelcontextprotocol/clientInfo":` + us + `}`)
		f.begin(session{modern: true, meta: meta})
		var still []string
		if there, still = f.gather(ctx); len(there) > 0 {
			missing = still
		}
		params = append(append([]byte(`{"_meta":`), meta...), '}')
	}
	report := &Report{Missing: missing, Counts: map[string]int{}}
	for _, k := range kinds {
		report.Counts[k.items] = len(f.refresh(ctx, k, params, true).items)
		for _, c := range there {
			c.mu.Lock()
			if c.cacheOf(k).missing {
				report.Missing = append(report.Missing, fmt.Sprintf("%s: it has not listed its %s", c.Name, k.items))
			}
			c.mu.Unlock()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	report.Collisions = slices.SortedFunc(maps.Values(f.collisions), func(a, b Collision) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return report, nil
}
