package catalog

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/steadymcp/steady/errors"
)

// errAddress is why a connection was not made. It names no address.
var errAddress = errors.New("catalog: the host resolves to an address that is not public")

// special are the networks to which no request goes that was meant for a
// public host: this machine, private and shared networks, link-local ones (and
// with them the metadata services of clouds), test networks, and those that
// carry another address inside.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

// never are refused even inside a private network: they answer any process on
// the machine with its credentials.
var never = prefixes("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32", "fd20:ce::/64", "fd00:42::/64", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32")

var (
	translated = netip.MustParsePrefix("64:ff9b::/96") // public IPv4 hosts, as seen from a network with IPv6 only
	shared     = netip.MustParsePrefix("100.64.0.0/10")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

func within(list []netip.Prefix, ip netip.Addr) bool {
	for _, p := range list {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// A dialGuard decides, after a name is resolved, whether to connect.
type dialGuard struct {
	private  bool         // the operator said that the base is inside a private network
	loopback bool         // the base is this machine
	literal  []netip.Addr // the base is this address
}

func newDialGuard(base *url.URL, private bool) *dialGuard {
	g := &dialGuard{private: private}
	if ip, err := netip.ParseAddr(base.Hostname()); err == nil {
		g.literal = append(g.literal, ip.Unmap().WithZone(""))
	}
	g.loopback = thisMachine(base.Hostname())
	return g
}

func (g *dialGuard) allows(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if translated.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, l := range g.literal {
		if l == ip {
			return true
		}
	}
	switch {
	case within(never, ip):
		return false
	case ip.IsLoopback():
		return g.loopback
	case g.loopback:
		return false // localhost is not elsewhere
	case within(special, ip):
		return g.private && (ip.IsPrivate() || shared.Contains(ip))
	}
	return true
}

// control is called by the dialler with the address that it is about to
// connect to.
func (g *dialGuard) control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("catalog: the network %q is not TCP", network)
	}
	a, err := netip.ParseAddrPort(address)
	if err != nil || !g.allows(a.Addr()) {
		return errAddress
	}
	return nil
}

func (g *dialGuard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: g.control}
	return d.DialContext(ctx, network, address)
}
