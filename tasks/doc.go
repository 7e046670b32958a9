// Package tasks lets a tool take longer than its caller waits.
//
// A call of a tool that has a [Policy] runs off the request. If it ends within
// a grace, the caller gets the result as always. If not, the caller gets a
// handle and the work goes on: clients that declare the extension
// io.modelcontextprotocol/tasks (SEP-2663) get a task, all others get a normal
// result that names the tools to ask with (task_status, task_result,
// task_cancel, task_answer). Both look into the same [Store].
//
// A call that is made again, because the reply was lost, because the client
// gave up, or because the model forgot, joins the call that it repeats: see
// [Policy] for what makes two calls the same one.
//
//	slow := tasks.New(&tasks.Options{Policies: map[string]tasks.Policy{
//		"export_orders": {Identity: tasks.By(func(in ExportInput) string { return in.Date + "/" + in.Scope })},
//	}})
//	if err := slow.Install(server); err != nil { ... }
//	defer slow.Close(ctx)
//
// Handlers need no change. One that wants more calls [SetStatus], [Progress],
// [Promote] or [Elicit].
//
// # The way of a call
//
// Reading the source from the top: install.go receives, call.go decides,
// creates or joins, and answers, run.go runs, and the [Store] remembers. start.go
// runs what another process has accepted or lost.
//
// # What is guaranteed
//
// Two calls with one identity never run at the same time, in this process or in
// others that share the store, and are not run one after the other once the
// first has succeeded, until its record has expired. A call that fails,
// panics, exceeds [Policy.MaxRun] or is cancelled lets its identity go when its
// handler has returned, so that it can be called again; a handler that ignores
// its context holds it until the record expires.
//
// The process may die while a handler runs. Then nobody can know whether the
// work happened, and the task is failed with a message that says so, or run again
// if [Policy.RunAgain] says that this is safe. For that the tasks must outlive the
// process: package rivertasks, in a module of its own, keeps them in SQLite or
// PostgreSQL, is a [Dispatcher], and so lets any process go on with any task.
//
// With a Dispatcher, a call that gets its handle at once ([Eager]) is run by whichever
// process is free, from what the record says of it; one whose caller waits is run
// where it came in, with the caller's request.
//
// A Manager is safe for use by many goroutines.
package tasks
