//go:build !unix

package rivertasks

import "context"

// Where there are no locks that go with their process, only the lease counts.

func (d *sqliteDB) hold(context.Context, string) lock { return nil }

func (d *sqliteDB) holders(context.Context, []string) (map[string]bool, error) { return nil, nil }
