package tasks

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Push works around three things that the SDK does not have: it drops taskIds
// from subscriptions/listen, has no place for them in the acknowledgement, and
// sends no notification that it does not know. So a wrapper of the transport,
// [Manager.Handler] or [Manager.Transport], hands the ids in and notifications
// out; without one a client's taskIds are not acknowledged and it polls, which
// the extension allows.

// A stream is where the notifications of one subscriptions/listen go.
type stream struct {
	taskIDs []string
	id      any // of the request, as it came
	push    func(ctx context.Context, method string, params json.RawMessage) error
}

// maxListen bounds the tasks of one subscriptions/listen; more are not looked
// at.
const maxListen = 256

// listening is the state of one subscriptions/listen.
type listening struct {
	agreed []string
	acked  chan struct{}
	once   sync.Once
}

type listeningKey struct{}

// listen answers subscriptions/listen. It lets the SDK answer for everything
// but the tasks, and stays open until they have ended or the client goes.
func (m *Manager) listen(ctx context.Context, next mcp.MethodHandler, method string, req *mcp.SubscriptionsListenRequest) (mcp.Result, error) {
	s := m.takeStream(ctx, req)
	if s == nil || len(s.taskIDs) == 0 || !hasTasks(req) {
		return next(ctx, method, req)
	}
	if !declared(req) {
		return nil, errMissingCapability()
	}
	l := &listening{acked: make(chan struct{})}
	var recs []*Record
	slices.Sort(s.taskIDs)
	ids := slices.Compact(s.taskIDs)
	for _, id := range ids[:min(len(ids), maxListen)] {
		if rec, err := m.find(ctx, method, req, id); err == nil && rec.Owner != "" {
			recs = append(recs, rec)
			l.agreed = append(l.agreed, id)
		}
	}
	if len(recs) == 0 {
		return next(ctx, method, req)
	}

	ctx, cancel := context.WithCancel(ctx)
	var followers sync.WaitGroup
	defer followers.Wait()
	defer cancel()
	for _, rec := range recs {
		followers.Go(func() { m.follow(ctx, l, s, *rec) })
	}
	// The SDK returns at once if the client wants nothing but tasks.
	res, err := next(context.WithValue(ctx, listeningKey{}, l), method, req)
	if err == nil {
		followers.Wait()
	}
	return res, err
}

// follow pushes the state of a task, and each that comes after, until it has
// ended. It begins with the state at hand, since that may be newer than what the
// client has seen, and after the acknowledgement.
func (m *Manager) follow(ctx context.Context, l *listening, s *stream, rec Record) {
	select {
	case <-l.acked:
	case <-ctx.Done():
		return
	}
	for {
		params := &notificationParams{detailedTask: rec.detailed(time.Now())}
		params.Meta = mcp.Meta{mcp.MetaKeySubscriptionID: s.id}
		raw, err := json.Marshal(params)
		if err == nil {
			err = s.push(ctx, notificationTasks, raw)
		}
		if err != nil {
			if ctx.Err() == nil {
				m.observer.Observe(ctx, OperationFailed{Operation: "push", Task: rec.ID, Err: err})
			}
			return
		}
		if rec.Status.Terminal() {
			return
		}
		if rec, err = m.watch(ctx, rec.ID, rec.Version); err != nil {
			return
		}
	}
}

// acknowledgement is the SDK's with the tasks.
type acknowledgement struct {
	mcp.ParamsBase
	Notifications struct {
		mcp.NotificationSubscriptions
		TaskIDs []string `json:"taskIds,omitempty"`
	} `json:"notifications"`
}

// acknowledge adds the agreed tasks to an acknowledgement on its way out, and
// lets the notifications begin when it is.
func acknowledge(ctx context.Context, next mcp.MethodHandler, req mcp.Request) (mcp.Result, error) {
	l, _ := ctx.Value(listeningKey{}).(*listening)
	p, ok := req.GetParams().(*mcp.SubscriptionsAcknowledgedParams)
	if l == nil || !ok {
		return next(ctx, notificationAcked, req)
	}
	ss, _ := req.GetSession().(*mcp.ServerSession)
	a := &acknowledgement{}
	a.Meta = p.Meta
	a.Notifications.NotificationSubscriptions = p.Notifications
	a.Notifications.TaskIDs = l.agreed
	res, err := next(ctx, notificationAcked, &mcp.ServerRequest[*acknowledgement]{Session: ss, Params: a})
	l.once.Do(func() { close(l.acked) })
	return res, err
}
