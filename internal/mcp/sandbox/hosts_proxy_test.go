package sandbox

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"hone/internal/fault"
)

func TestPublic(t *testing.T) {
	for _, private := range []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "168.63.129.16", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "::ffff:127.0.0.1",
		"::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",
		"2001:0:7f00:1::",
	} {
		if public(netip.MustParseAddr(private)) {
			t.Errorf("%s is taken for one of the internet's", private)
		}
	}
	for _, a := range []string{
		"93.184.215.14", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1",
	} {
		if !public(netip.MustParseAddr(a)) {
			t.Errorf("%s is taken for a private one", a)
		}
	}
}

func TestRules(t *testing.T) {
	r, err := ParseHosts([]string{"API.example.com", "*.cdn.example", "db.example:5432", "[::1]:80", "10.0.0.5"})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"api.example.com:443": true, "api.example.com.:80": true, "api.example.com:22": false,
		"x.api.example.com:443": false, "a.cdn.example:443": true, "a.b.cdn.example:443": true,
		"cdn.example:443": false, "evilcdn.example:443": false, "db.example:5432": true, "db.example:443": false,
		"[::1]:80": true, "10.0.0.5:443": true,
		"example.com:443": false,
	} {
		name, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		if r.allows(name, port) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
	for _, bad := range []string{"", "*", "*.", "https://x.example", "a b", "x/y", "*.*.example"} {
		if _, err := ParseHosts([]string{bad}); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A name is resolved once, every address is looked at, and what was looked at is connected to: a name that leads
// elsewhere the second time it is asked is not asked a second time.
func TestResolvedOnceAndPinned(t *testing.T) {
	for _, tc := range []struct {
		name    string
		hosts   []string
		ask     string
		answers [][]string // of the resolver, in turn
		dialled string     // "" for none
	}{
		{"public", []string{"a.example"}, "a.example:443", [][]string{{"93.184.215.14"}, {"127.0.0.1"}}, "93.184.215.14:443"},
		{"rebound", []string{"a.example"}, "a.example:443", [][]string{{"127.0.0.1"}, {"93.184.215.14"}}, ""},
		{"both", []string{"a.example"}, "a.example:443", [][]string{{"10.0.0.1", "93.184.215.14"}}, "93.184.215.14:443"},
		{"metadata", []string{"*.example"}, "a.example:80", [][]string{{"169.254.169.254", "fd00:ec2::254"}}, ""},
		{"mapped", []string{"a.example"}, "a.example:443", [][]string{{"::ffff:127.0.0.1"}}, ""},
		{"this machine's public address", []string{"a.example"}, "a.example:443", [][]string{{"93.184.215.99"}}, ""},
		{"a private address that is named too", []string{"a.example", "10.0.0.1"}, "a.example:443", [][]string{{"10.0.0.1"}}, "10.0.0.1:443"},
		{"named at another port", []string{"a.example", "10.0.0.1:22"}, "a.example:443", [][]string{{"10.0.0.1"}}, ""},
		{"localhost", []string{"localhost:3000"}, "localhost:3000", [][]string{{"127.0.0.1"}}, "127.0.0.1:3000"},
		{"an address", []string{"127.0.0.1:3000"}, "127.0.0.1:3000", nil, "127.0.0.1:3000"},
		{"an address that is not named", []string{"a.example"}, "127.0.0.1:443", nil, ""},
		{"an odd form of an address", []string{"a.example"}, "0x7f.1:443", nil, ""},
		{"another name", []string{"a.example"}, "b.example:443", nil, ""},
		{"nothing", []string{"a.example"}, "a.example:443", [][]string{{}}, ""},
	} {
		rules, err := ParseHosts(tc.hosts)
		if err != nil {
			t.Fatal(err)
		}
		asked, dialled := 0, ""
		p := &Proxy{Rules: rules, Own: func() ([]net.Addr, error) {
			return []net.Addr{&net.IPNet{IP: net.ParseIP("93.184.215.99"), Mask: net.CIDRMask(24, 32)}}, nil
		},
			Lookup: func(context.Context, string) ([]netip.Addr, error) {
				var out []netip.Addr
				for _, text := range tc.answers[asked] {
					out = append(out, netip.MustParseAddr(text))
				}
				asked++
				return out, nil
			},
			Dial: func(_ context.Context, _, address string) (net.Conn, error) {
				dialled = address
				ours, theirs := net.Pipe()
				theirs.Close()
				return ours, nil
			}}
		c, err := p.connect(t.Context(), "tcp", tc.ask)
		if (err == nil) != (tc.dialled != "") || dialled != tc.dialled || asked > 1 {
			t.Errorf("%s: connected to %q after %d questions, %v", tc.name, dialled, asked, err)
		}
		if c != nil {
			c.Close()
		}
	}
}

// A client of the standard library gets through to a named host, by http and by a tunnel, and is told why it does not
// to another.
func TestThroughTheProxy(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+" "+r.Host)
	})
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	other := httptest.NewServer(answer)
	for _, s := range []*httptest.Server{plain, secure, other} {
		t.Cleanup(s.Close)
	}
	rules, err := ParseHosts([]string{strings.TrimPrefix(plain.URL, "http://"),
		strings.TrimPrefix(secure.URL, "https://")})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { (&Proxy{Rules: rules}).Serve(l); close(served) }()
	transport := secure.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()})
	client := &http.Client{Transport: transport}
	for _, tc := range []struct{ url, want string }{
		{plain.URL, "GET " + strings.TrimPrefix(plain.URL, "http://")},
		{secure.URL, "GET " + strings.TrimPrefix(secure.URL, "https://")},
		{other.URL, `is not among this server's "hosts"`},
	} {
		r, err := client.Get(tc.url)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || !strings.Contains(string(text), tc.want) || (r.StatusCode == 403) != (tc.url == other.URL) {
			t.Errorf("%s: %s, %s, %v", tc.url, r.Status, text, err)
		}
	}
	if _, err := client.Get(strings.Replace(other.URL, "http://", "https://", 1)); err == nil ||
		!strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("a tunnel to another: %v", err)
	}
	open, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if _, err := io.WriteString(open,
		"CONNECT "+strings.TrimPrefix(plain.URL, "http://")+" HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(open).ReadString('\n'); !strings.Contains(line, "200") || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	l.Close() // ends the tunnel that is open, too
	<-served
	transport.CloseIdleConnections()
}

// Install scripts reach what is public and the registry that is named, and nothing else of this machine and its
// networks.
func TestPublicRules(t *testing.T) {
	addresses := map[string]string{"registry.example.org": "93.184.216.34", "inside.example.org": "10.0.0.7",
		"cloud.example.org": "169.254.169.254", "mirror.lan": "10.0.0.5"}
	rules, err := PublicHosts([]string{"mirror.lan:4873", "10.0.0.5:4873"})
	if err != nil {
		t.Fatal(err)
	}
	var dialled string
	p := &Proxy{Rules: rules,
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(addresses[name])}, nil
		},
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = address
			return nil, errors.New("reached")
		},
		Own: func() ([]net.Addr, error) { return nil, nil }}
	for address, reached := range map[string]bool{
		"registry.example.org:443": true, "registry.example.org:22": false, "inside.example.org:443": false,
		"cloud.example.org:80": false, "127.0.0.1:80": false, "localhost:443": false, "169.254.169.254:80": false,
		"[::1]:443": false, "10.0.0.5:4873": true, "10.0.0.5:443": false,
	} {
		dialled = ""
		addresses["localhost"] = "127.0.0.1"
		_, err := p.connect(context.Background(), "tcp", address)
		if (dialled != "") != reached {
			t.Errorf("%s: dialled %q, %v", address, dialled, err)
		}
	}
}
