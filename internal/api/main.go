// Api keeps a readable record of what the packages of this repository export,
// and fails where the code and the record differ:
//
//	go run ./internal/api                      # check
//	go run ./internal/api -update              # record what was added
//	go run ./internal/api -update -reason "…"  # also record what was removed or changed
//
// The record is a folder of text files, one per package, with one line for each
// thing that a user's code can name. An addition adds lines. A line that goes
// away is a change that can break a user's build or a peer, and is accepted only
// with a reason in api/breaking.txt; that holds as well for lines that somebody
// deletes from the record by hand, as far back as the last release.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	update := flag.Bool("update", false, "write the record")
	reason := flag.String("reason", "", "why lines may go away from the record; written to "+breakingFile)
	flag.Parse()
	if err := run(".", *update, *reason); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run checks or updates the record of the repository in dir.
func run(dir string, update bool, reason string) error {
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return errors.New("run this from the root of the repository")
	}
	current, err := exported(dir)
	if err != nil {
		return err
	}
	recorded, err := readRecord(dir)
	if err != nil {
		return err
	}
	accepted, err := readBreaking(dir)
	if err != nil {
		return err
	}

	gone := without(recorded, current)
	before, err := everRecorded(dir)
	if err != nil {
		return err
	}
	unexplained := without(union(gone, without(before, current)), accepted)
	if update {
		if len(unexplained) > 0 && reason != "" {
			if err := addBreaking(dir, reason, unexplained); err != nil {
				return err
			}
			unexplained = nil
		}
		if len(unexplained) == 0 {
			return writeRecord(dir, current)
		}
	}

	var problems []string
	complain := func(what string, lines record, sign string) {
		if len(lines) > 0 {
			problems = append(problems, what+"\n"+lines.list(sign))
		}
	}
	complain("This breaks whoever uses it. Bring it back, or accept it with: make api-update REASON=\"why, and what to use instead\"", unexplained, "-")
	if !update {
		complain("This is accepted in "+breakingFile+" but still recorded. Record it with: make api-update", without(gone, unexplained), "-")
		complain("This is new and not in the record. Record it with: make api-update", without(current, recorded), "+")
		complain("This is in "+breakingFile+" as gone, but it is there. Delete it from that file.", without(accepted, without(accepted, current)), " ")
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "\n"))
	}
	return nil
}
