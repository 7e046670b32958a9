package desk

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOpenIsDeterministic(t *testing.T) {
	t.Parallel()
	a, b := Open(nil), Open(&Options{})
	require.Equal(t, a.orders, b.orders)
	require.Equal(t, a.products, b.products)
	require.Equal(t, a.customers, b.customers)
	require.Len(t, a.orders, UsualOrders)
	require.NotEqual(t, a.orders, Open(&Options{Seed: 1}).orders)
}

func TestOpenCoversEveryStatus(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		d := Open(&Options{Seed: seed})
		for _, s := range Statuses {
			_, n := d.Search(Filter{Status: s}, false, 0)
			require.Greater(t, n, 10, "seed %d, %s", seed, s)
		}
		o, err := d.Order(ShippedOrder)
		require.NoError(t, err)
		require.Equal(t, Shipped, o.Status)
		o, err = d.Order(ForgottenOrder)
		require.NoError(t, err)
		require.Empty(t, o.CustomerID)
		require.True(t, slices.IsSortedFunc(d.orders, func(a, b Order) int {
			if a.Placed < b.Placed {
				return -1
			} else if a.Placed > b.Placed {
				return 1
			}
			return 0
		}))
		require.Equal(t, Today, d.orders[UsualOrders-1].Placed)
	}
}

func TestOpenGrown(t *testing.T) {
	t.Parallel()
	d := Open(&Options{Orders: ManyOrders})
	_, n := d.Search(Filter{}, false, 0)
	require.Equal(t, ManyOrders, n)
}

func TestSearch(t *testing.T) {
	t.Parallel()
	d := Open(nil)
	found, total := d.Search(Filter{Status: Paid}, false, 3)
	require.Len(t, found, 3)
	require.Greater(t, total, 3)
	require.LessOrEqual(t, found[0].Placed, found[2].Placed)
	newest, _ := d.Search(Filter{}, true, 1)
	require.Equal(t, "ORD-5000", newest[0].ID)

	found, total = d.Search(Filter{From: "2026-02-01", To: "2026-02-01"}, false, 1000)
	require.Len(t, found, total)
	require.NotZero(t, total)
	for _, o := range found {
		require.Equal(t, "2026-02-01", o.Placed)
	}
	byID, _ := d.Search(Filter{Customer: d.customers[0].ID}, false, 1000)
	byName, _ := d.Search(Filter{Customer: "ada aalto"}, false, 1000)
	require.NotEmpty(t, byID)
	require.Equal(t, byID, byName)
	none, total := d.Search(Filter{Customer: "Nobody"}, false, 1000)
	require.Empty(t, none)
	require.Zero(t, total)
}

func TestSearchHandsOutCopies(t *testing.T) {
	t.Parallel()
	d := Open(nil)
	found, _ := d.Search(Filter{}, false, 1)
	found[0].Lines[0].Quantity = 999
	again, err := d.Order(found[0].ID)
	require.NoError(t, err)
	require.NotEqual(t, 999, again.Lines[0].Quantity)
}

func TestSearchAfter(t *testing.T) {
	t.Parallel()
	d := Open(nil)
	for _, newest := range []bool{false, true} {
		f := Filter{Status: Shipped, From: "2026-01-01"}
		all, total := d.Search(f, newest, UsualOrders)
		walked, _ := d.Search(f, newest, 700)
		for {
			more, err := d.SearchAfter(f, newest, walked[len(walked)-1].ID, 700)
			require.NoError(t, err)
			if len(more) == 0 {
				break
			}
			walked = append(walked, more...)
		}
		require.Len(t, walked, total)
		require.Equal(t, all, walked)
	}
	var nf *NotFoundError
	_, err := d.SearchAfter(Filter{}, false, "ORD-0", 1)
	require.ErrorAs(t, err, &nf)
}

func TestRevenue(t *testing.T) {
	t.Parallel()
	d := Open(nil)
	f := Filter{Status: Shipped, From: "2026-04-01", To: "2026-06-30"}
	shipped, total := d.Search(f, false, UsualOrders)
	sum := 0
	for _, o := range shipped {
		sum += o.TotalCents
	}
	orders, cents := d.Revenue(f)
	require.Equal(t, total, orders)
	require.Equal(t, sum, cents)
	require.NotZero(t, cents)
}

func TestOrderIDs(t *testing.T) {
	t.Parallel()
	d := Open(nil)
	for _, id := range []string{"", "42", "ORD-", "ORD-0", "ORD-042", "ORD-+42", "ORD--1", "ORD-5001", "ord-42", "ORD-99999999999999999999", "ORD-4 2"} {
		_, err := d.Order(id)
		var nf *NotFoundError
		require.ErrorAs(t, err, &nf, id)
		require.Equal(t, NotFoundError{What: "order", ID: id}, *nf)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	d := Open(nil)
	var no *NotCancellableError
	_, _, err := d.Cancel(ShippedOrder)
	require.ErrorAs(t, err, &no)
	require.Equal(t, NotCancellableError{ID: "ORD-42", Status: Shipped}, *no)

	paid, before := d.Search(Filter{Status: Paid}, false, 1)
	line := paid[0].Lines[0]
	stock := d.Products()[d.product[line.SKU]].Stock
	o, refund, err := d.Cancel(paid[0].ID)
	require.NoError(t, err)
	require.Equal(t, paid[0].TotalCents, refund)
	require.Equal(t, Cancelled, o.Status)
	require.GreaterOrEqual(t, d.Products()[d.product[line.SKU]].Stock, stock+line.Quantity)
	_, after := d.Search(Filter{Status: Paid}, false, 1)
	require.Equal(t, before-1, after)

	again := d.Products()
	o, refund, err = d.Cancel(paid[0].ID)
	require.NoError(t, err, "cancelling twice is no error")
	require.Zero(t, refund)
	require.Equal(t, Cancelled, o.Status)
	require.Equal(t, again, d.Products(), "and puts nothing back twice")

	pending, _ := d.Search(Filter{Status: Pending}, false, 1)
	_, refund, err = d.Cancel(pending[0].ID)
	require.NoError(t, err)
	require.Zero(t, refund, "nothing was paid")
}

func TestNote(t *testing.T) {
	t.Parallel()
	d := Open(nil)
	require.NoError(t, d.Note("ORD-1", "ring twice"))
	o, err := d.Order("ORD-1")
	require.NoError(t, err)
	require.Equal(t, "ring twice", o.Note)
	var long *NoteError
	require.ErrorAs(t, d.Note("ORD-1", strings.Repeat("x", MaxNote+1)), &long)
	var nf *NotFoundError
	require.ErrorAs(t, d.Note("ORD-0", ""), &nf)
}

func TestReserveUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	d := Open(nil)
	stock := d.Products()[0].Stock
	p, err := d.Reserve("SKU-1", stock-1)
	require.NoError(t, err)
	require.Equal(t, 1, p.Stock)
	require.True(t, p.Low())
	var out *OutOfStockError
	_, err = d.Reserve("SKU-1", 2)
	require.ErrorAs(t, err, &out)
	require.Equal(t, 1, out.Product.Stock)
	require.Equal(t, 2, out.Asked)
	p, err = d.Reserve("SKU-1", 1)
	require.NoError(t, err)
	require.Zero(t, p.Stock)
	var nf *NotFoundError
	_, err = d.Reserve("SKU-0", 1)
	require.ErrorAs(t, err, &nf)
}

func TestWriteExport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := Open(&Options{ExportTakes: time.Minute})
		start := time.Now()
		e, err := d.WriteExport(t.Context(), Filter{Status: Paid})
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(start))
		require.Equal(t, 1, d.ExportsWritten())
		again, err := d.WriteExport(t.Context(), Filter{Status: Paid})
		require.NoError(t, err)
		require.Equal(t, e, again, "the same orders give the same file")
		require.Equal(t, 2, d.ExportsWritten())

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = d.WriteExport(ctx, Filter{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2, d.ExportsWritten(), "an export that was given up is not counted")
	})
}

func TestWriteExportToFailingBucket(t *testing.T) {
	t.Parallel()
	d := Open(&Options{BucketFails: 1})
	var bucket *BucketError
	_, err := d.WriteExport(t.Context(), Filter{})
	require.ErrorAs(t, err, &bucket)
	require.Zero(t, d.ExportsWritten())
	_, err = d.WriteExport(t.Context(), Filter{})
	require.NoError(t, err)
	require.Equal(t, 1, d.ExportsWritten())
}
