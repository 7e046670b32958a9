package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/steadymcp/steady/cmd/steady/internal/report"
	"github.com/steadymcp/steady/registry"
)

const diffHelp = `Diff says what has changed between two catalogs of tools, and what each change
means to callers: breaking, additive or cosmetic.

    steady diff old.json new.json
    steady diff old.json -- ./server     a saved catalog and a server
    steady diff old.json -http URL

The exit code is 1 if a change is as grave as -fail-on says.
`

func runDiff(ctx context.Context, e *env, args []string) error {
	fs := flagSet(e, "diff", diffHelp)
	var t targetFlags
	t.addForListing(fs)
	asJSON := fs.Bool("json", false, "write JSON")
	failOn := fs.String("fail-on", "breaking", "least grave `kind` that makes the exit code 1: breaking, additive, cosmetic or never")
	files, command, err := parse(fs, args)
	if err != nil {
		return err
	}
	kinds := []registry.ChangeKind{registry.Breaking, registry.Additive, registry.Cosmetic}
	grave := slices.Index(kinds, registry.ChangeKind(*failOn))
	if grave < 0 && *failOn != "never" {
		return badUsage("-fail-on is breaking, additive, cosmetic or never, not %q", *failOn)
	}
	if len(files) == 0 {
		return badUsage("say what to compare with: a file that snapshot wrote")
	}
	old, err := e.readListing(files[0])
	if err != nil {
		return err
	}
	now, err := t.listingFrom(ctx, e, files[1:], command)
	if err != nil {
		return err
	}
	changes, err := registry.Diff(old, now)
	if err != nil {
		return err
	}
	if *asJSON {
		if changes == nil {
			changes = []registry.Change{}
		}
		enc := json.NewEncoder(e.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(map[string]any{"old": old.Fingerprint(), "new": now.Fingerprint(), "changes": changes})
	} else {
		for _, c := range changes {
			fmt.Fprintln(e.stdout, report.Printable(c.String()))
		}
		if len(changes) == 0 {
			fmt.Fprintln(e.stdout, "no change")
		}
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(changes, func(c registry.Change) bool { return slices.Index(kinds, c.Kind) <= grave }) {
		return errFound
	}
	return nil
}
