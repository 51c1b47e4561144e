package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"hone/internal/fault"
)

// Hosts are what may be reached.
type Hosts struct {
	hosts  []host
	public bool // and whatever is public, at the ports of the web
}

// host is one that is named: a DNS name, one with "*." before it for all below it, or an address.
type host struct {
	name string
	port string // "" for 80 and 443
}

// ParseHosts reads hosts as they are configured: "api.example.com", "*.example.com", "10.0.0.5:8080", "localhost:3000".
func ParseHosts(texts []string) (Hosts, error) {
	var r Hosts
	for _, text := range texts {
		h := host{name: text}
		if name, port, err := net.SplitHostPort(text); err == nil {
			h = host{name, port}
		}
		h.name = canonical(h.name)
		if bare := strings.TrimPrefix(h.name, "*."); bare == "" || strings.ContainsAny(bare, "*/@ ") ||
			strings.Contains(text, "://") {
			return r, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("%q is no host", text), Where: "hosts",
				Next: `write "api.example.com", "*.example.com" or "host:port"`}
		}
		r.hosts = append(r.hosts, h)
	}
	return r, nil
}

// PublicHosts are rules for who may reach all of the internet, and of this machine and its networks the hosts that are
// named alone.
func PublicHosts(named []string) (Hosts, error) {
	r, err := ParseHosts(named)
	r.public = true
	return r, err
}

func canonical(name string) string {
	return strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
}

// allows reports whether a host may be asked for at a port.
func (r Hosts) allows(name, port string) bool {
	return r.public && (port == "80" || port == "443") || r.names(name, port)
}

// names reports whether a host is among those that are named.
func (r Hosts) names(name, port string) bool {
	name = canonical(name)
	return slices.ContainsFunc(r.hosts, func(h host) bool {
		below, isBelow := strings.CutPrefix(h.name, "*")
		return (h.name == name || isBelow && strings.HasSuffix(name, below) && len(name) > len(below)) &&
			(h.port == port || h.port == "" && (port == "80" || port == "443"))
	})
}

// allowsAddress reports whether an address is itself among the hosts.
func (r Hosts) allowsAddress(a netip.Addr, port string) bool {
	return r.names(a.String(), port) || a.IsLoopback() && r.names("localhost", port)
}

// special are blocks that no public service is in and netip has no word for (IANA special-purpose registries), and
// those that hold an IPv4 address of any kind; 168.63.129.16 is a cloud's own service on every machine in it.
func special() []netip.Prefix {
	var out []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "168.63.129.16/32", "::/96", "64:ff9b::/96",
		"64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// public reports whether an address is one of the internet's, rather than of this machine, its network or its cloud.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() ||
		a.IsUnspecified() {
		return false
	}
	return !slices.ContainsFunc(special(), func(p netip.Prefix) bool { return p.Contains(a) })
}

// Proxy is the one way out for a server that may reach some hosts, and serves that one: an HTTP proxy (RFC 9110, 9.3.6
// CONNECT) that connects to named hosts and never to private, loopback or link-local addresses, unless these are named
// themselves. A name is resolved once, what it resolves to is checked, and that address is connected to: a name that
// changes its mind in between gains nothing. Its zero Lookup, Dial and Own are the machine's.
type Proxy struct {
	Rules  Hosts
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Own    func() ([]net.Addr, error) // addresses of this machine, also where they are public
}

// refusal is why a connection is not made.
type refusal string

func (r refusal) Error() string { return string(r) }

// connect resolves, checks, and connects to what was checked.
func (p *Proxy) connect(ctx context.Context, network, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if !p.Rules.allows(name, port) {
		return nil, refusal(fmt.Sprintf(`hone: %s is not among this server's "hosts"`, address))
	}
	addresses, err := p.addresses(ctx, name)
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, a := range addresses {
		if !p.Rules.allowsAddress(a, port) && (!public(a) || p.isOwn(a)) {
			failed = append(
				failed, refusal(fmt.Sprintf(`hone: %s leads to %s, an address of this machine or of a private network; "hosts" does not name it`, name, a)),
			)
			continue
		}
		c, err := p.dial(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return c, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

func (p *Proxy) addresses(ctx context.Context, name string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return []netip.Addr{a.Unmap()}, nil
	}
	lookup := p.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	found, err := lookup(ctx, name)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("hone: %s has no address", name)
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, err
}

func (p *Proxy) isOwn(a netip.Addr) bool {
	own := p.Own
	if own == nil {
		own = net.InterfaceAddrs
	}
	all, err := own()
	return err != nil || slices.ContainsFunc(all, func(each net.Addr) bool {
		prefix, err := netip.ParsePrefix(each.String())
		return err == nil && prefix.Addr().Unmap() == a
	})
}

const dialTime = 20 * time.Second

func (p *Proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if p.Dial != nil {
		return p.Dial(ctx, network, address)
	}
	d := net.Dialer{Timeout: dialTime}
	return d.DialContext(ctx, network, address)
}

// Serve answers on l until it is closed, and ends all connections then.
func (p *Proxy) Serve(l net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{DialContext: p.connect, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}
	forward := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1,
		Rewrite:      func(r *httputil.ProxyRequest) { r.Out.Host = r.Out.URL.Host },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { refuseRequest(w, err) }}
	var tunnels sync.WaitGroup
	server := &http.Server{ReadHeaderTimeout: dialTime, BaseContext: func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodConnect:
				tunnels.Add(1)
				defer tunnels.Done()
				p.tunnel(ctx, w, r)
			case r.URL.Scheme == "http" && r.URL.Host != "":
				forward.ServeHTTP(w, r)
			default:
				http.Error(w, "hone: this is a proxy", http.StatusBadRequest)
			}
		})}
	_ = server.Serve(l) // it ends when l is closed
	cancel()
	_ = server.Close()
	tunnels.Wait()
	transport.CloseIdleConnections()
}

func refuseRequest(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	if _, ok := errors.AsType[refusal](err); ok {
		status = http.StatusForbidden
	}
	http.Error(w, err.Error(), status)
}

// tunnel connects the two sides of a CONNECT until one of them ends, or ctx does.
func (p *Proxy) tunnel(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	there, err := p.connect(ctx, "tcp", r.Host)
	if err != nil {
		refuseRequest(w, err)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuseRequest(w, err)
		return
	}
	defer here.Close()
	stop := context.AfterFunc(ctx, func() { here.Close(); there.Close() })
	defer stop()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	pass := func(to net.Conn, from io.Reader) {
		_, _ = io.Copy(to, from) // its end is the other side's
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		} else {
			_ = to.Close()
		}
	}
	both.Go(func() { pass(there, buffered) })
	both.Go(func() { pass(here, there) })
	both.Wait()
}
