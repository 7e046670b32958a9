package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/steadymcp/steady/registry"
)

const snapshotHelp = `Snapshot saves what a server advertises: its name, its instructions and its
tools, in their order. The file is for diff and lint, and for reviewing what
models are shown.

    steady snapshot -o tools.json -- ./server
    steady snapshot -http URL > tools.json
    steady snapshot -fingerprint -- ./server    only the fingerprint, to compare releases
`

func runSnapshot(ctx context.Context, e *env, args []string) error {
	fs := flagSet(e, "snapshot", snapshotHelp)
	var t targetFlags
	t.addForListing(fs)
	out := fs.String("o", "", "write to `FILE` instead of standard output")
	fingerprint := fs.Bool("fingerprint", false, "write the SHA-256 of the tools only")
	files, command, err := parse(fs, args)
	if err != nil {
		return err
	}
	listing, err := t.listingFrom(ctx, e, files, command)
	if err != nil {
		return err
	}
	w := e.stdout
	if *out != "" {
		f, err := os.Create(*out)
		if err != nil {
			return badUsage("%v", err)
		}
		defer f.Close()
		w = f
	}
	if *fingerprint {
		_, err = fmt.Fprintln(w, listing.Fingerprint())
	} else {
		err = writeListing(w, listing)
	}
	if f, ok := w.(*os.File); ok && *out != "" && err == nil {
		err = f.Close()
	}
	return err
}

func writeListing(w io.Writer, listing *registry.Listing) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(listing)
}
