package desk

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// A Filter selects orders. Its zero value selects all.
type Filter struct {
	Status   Status // if empty, any
	Customer string // an ID, or a part of a name in any case; if empty, any
	From, To string // days, both included; empty means no bound
}

// Search returns the first limit orders that f selects, the oldest first or
// the newest first, and how many it selects in all.
func (d *Desk) Search(f Filter, newest bool, limit int) (found []Order, total int) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for o := range d.selected(d.orders, f, newest) {
		if total++; total <= limit {
			found = append(found, o.clone())
		}
	}
	return found, total
}

// SearchAfter returns the first limit orders that f selects behind the one
// with the ID after, in the direction that newest says. Whatever was placed or
// has changed in the meantime, it repeats none and skips none. The error is a
// [*NotFoundError].
func (d *Desk) SearchAfter(f Filter, newest bool, after string, limit int) (found []Order, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	i, err := d.index(after)
	if err != nil {
		return nil, err
	}
	rest := d.orders[i+1:]
	if newest {
		rest = d.orders[:i]
	}
	for o := range d.selected(rest, f, newest) {
		if len(found) == limit {
			break
		}
		found = append(found, o.clone())
	}
	return found, nil
}

// Revenue returns how many orders f selects and their total, in euro cents.
func (d *Desk) Revenue(f Filter) (orders, cents int) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for o := range d.selected(d.orders, f, false) {
		orders++
		cents += o.TotalCents
	}
	return orders, cents
}

// selected walks those of the desk's own orders that f selects; the caller
// holds the lock.
func (d *Desk) selected(among []Order, f Filter, newest bool) iter.Seq[Order] {
	customers := d.matching(f.Customer)
	orders := slices.All(among)
	if newest {
		orders = slices.Backward(among)
	}
	return func(yield func(Order) bool) {
		for _, o := range orders {
			switch {
			case f.Status != "" && o.Status != f.Status,
				f.Customer != "" && !customers[o.CustomerID],
				f.From != "" && o.Placed < f.From,
				f.To != "" && o.Placed > f.To:
				continue
			}
			if !yield(o) {
				return
			}
		}
	}
}

// matching returns the IDs of the customers that a filter means, and none if
// it means all.
func (d *Desk) matching(customer string) map[string]bool {
	ids := map[string]bool{}
	if customer == "" {
		return ids
	}
	if _, ok := d.customer[customer]; ok {
		ids[customer] = true
		return ids
	}
	customer = strings.ToLower(customer)
	for _, c := range d.customers {
		if strings.Contains(strings.ToLower(c.Name), customer) {
			ids[c.ID] = true
		}
	}
	return ids
}

// Order returns one order. The error is a [*NotFoundError].
func (d *Desk) Order(id string) (Order, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	o, err := d.lookup(id)
	if err != nil {
		return Order{}, err
	}
	return o.clone(), nil
}

// Customer returns one customer.
func (d *Desk) Customer(id string) (Customer, bool) {
	i, ok := d.customer[id]
	if !ok {
		return Customer{}, false
	}
	return d.customers[i], true
}

// Customers returns all customers.
func (d *Desk) Customers() []Customer { return slices.Clone(d.customers) }

// Cancel cancels an order, puts its lines back into stock and returns what is
// to be refunded, in euro cents. To cancel a cancelled order changes nothing
// and is not an error. The error is a [*NotFoundError] or a
// [*NotCancellableError].
func (d *Desk) Cancel(id string) (_ Order, refund int, _ error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o, err := d.lookup(id)
	if err != nil {
		return Order{}, 0, err
	}
	switch o.Status {
	case Shipped, Refunded:
		return Order{}, 0, &NotCancellableError{ID: o.ID, Status: o.Status}
	case Cancelled:
		return o.clone(), 0, nil
	case Paid:
		refund = o.TotalCents
	}
	o.Status = Cancelled
	for _, l := range o.Lines {
		d.products[d.product[l.SKU]].Stock += l.Quantity
	}
	return o.clone(), refund, nil
}

// MaxNote is how long a note may be, in bytes.
const MaxNote = 500

// A NoteError says that a note is too long.
type NoteError struct {
	ID    string
	Bytes int
}

func (e *NoteError) Error() string {
	return fmt.Sprintf("the note for %s has %d bytes, more than %d", e.ID, e.Bytes, MaxNote)
}

// Note puts a note on an order, in place of the one that it has. The error is
// a [*NotFoundError] or a [*NoteError].
func (d *Desk) Note(id, text string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	o, err := d.lookup(id)
	if err != nil {
		return err
	}
	if len(text) > MaxNote {
		return &NoteError{ID: id, Bytes: len(text)}
	}
	o.Note = text
	return nil
}

// lookup returns the desk's own order; the caller holds the lock.
func (d *Desk) lookup(id string) (*Order, error) {
	i, err := d.index(id)
	if err != nil {
		return nil, err
	}
	return &d.orders[i], nil
}

// index returns where in orders an order is; the caller holds the lock.
func (d *Desk) index(id string) (int, error) {
	digits, ok := strings.CutPrefix(id, "ORD-")
	n, err := strconv.Atoi(digits)
	// orderID(n-1) != id refuses other spellings of a number: ORD-042, ORD-+42.
	if !ok || err != nil || n < 1 || n > len(d.orders) || orderID(n-1) != id {
		return 0, &NotFoundError{What: "order", ID: id}
	}
	return n - 1, nil
}

func (o Order) clone() Order {
	o.Lines = slices.Clone(o.Lines)
	return o
}
