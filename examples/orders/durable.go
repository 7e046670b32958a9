package main

import (
	"context"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
)

// keepTasks lets tasks outlive the process, and be shared by all that are given
// the same database. It returns what closes that.
func (c config) keepTasks(slow *tasks.Options) (closeStore func(context.Context) error, _ error) {
	if c.tasks == "" {
		return func(context.Context) error { return nil }, nil
	}
	if c.without["tasks"] {
		return nil, errors.New("-tasks says where tasks are kept, and there are none: -without tasks or -bare is set")
	}
	store, err := rivertasks.Open(context.Background(), c.tasks, nil)
	if err != nil {
		return nil, err
	}
	slow.Store = store
	// Callers have no token here, and a session ends with its process. A server with
	// many users asks for tokens instead: their subject owns the task.
	slow.Anonymous = true
	return store.Close, nil
}
