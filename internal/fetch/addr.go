package fetch

import "net/netip"

// reserved are the ranges of the IANA special-purpose registries that netip has
// no name for and that lead nowhere on the public internet.
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
	"3fff::/20", "5f00::/16", "fec0::/10",
)

// Addresses that hold an IPv4 address a gateway would connect to: NAT64 has it
// at the end, 6to4 after its first two bytes.
var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, s := range texts {
		all[i] = netip.MustParsePrefix(s)
	}
	return all
}

// Public says that a is an address of the public internet: not private,
// loopback, link-local, multicast, unspecified, shared (CGNAT), unique local,
// or reserved, also when it is an IPv4 address in the clothes of IPv6.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return Public(netip.AddrFrom4([4]byte(b[12:16])))
	case sixToFour.Contains(a):
		return Public(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return true
}
