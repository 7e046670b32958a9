package desk

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"io"
	"strconv"
)

// An Export describes a file that was written.
type Export struct {
	Rows   int
	Bytes  int
	SHA256 string
}

// WriteExport writes the selected orders as CSV, one row for each line, and
// counts the file. It takes as long as the desk's options say. An export that
// ctx ends, or that the bucket does not take, is not written and not counted;
// the error is then ctx's cause or a [*BucketError].
func (d *Desk) WriteExport(ctx context.Context, f Filter) (Export, error) {
	fails := d.bucketFailsNow()
	if err := sleep(ctx, d.exportTakes); err != nil {
		return Export{}, err
	}
	if fails {
		return Export{}, &BucketError{Bucket: "order-exports"}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	hash := sha256.New()
	var file size
	w := csv.NewWriter(io.MultiWriter(hash, &file))
	e := Export{}
	_ = w.Write([]string{"order", "placed", "status", "customer", "sku", "quantity", "unit_cents"})
	for o := range d.selected(d.orders, f, false) {
		for _, l := range o.Lines {
			e.Rows++
			_ = w.Write([]string{o.ID, o.Placed, string(o.Status), o.CustomerID, l.SKU, strconv.Itoa(l.Quantity), strconv.Itoa(l.UnitCents)})
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return Export{}, err
	}
	e.Bytes, e.SHA256 = int(file), hex.EncodeToString(hash.Sum(nil))
	d.written++
	return e, nil
}

// bucketFailsNow decides at the start, so that the export which began first is
// the one that fails.
func (d *Desk) bucketFailsNow() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bucketFails == 0 {
		return false
	}
	d.bucketFails--
	return true
}

// ExportsWritten returns how many exports were written: the side effect that
// a retry must not repeat.
func (d *Desk) ExportsWritten() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.written
}

// size is a writer that only counts.
type size int

func (s *size) Write(p []byte) (int, error) {
	*s += size(len(p))
	return len(p), nil
}
