//! Which addresses belong to the public Internet, and what the others are.
//!
//! An IPv6 address that carries an IPv4 address, and by which that one is reached, is judged by it.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// What an address is that does not belong to the public Internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// Stands for "no address" or "this network".
    Unspecified,
    /// This machine.
    Loopback,
    /// Reached without a router.
    LinkLocal,
    /// Where clouds tell a machine about itself, credentials included.
    Metadata,
    /// An organisation's own network: RFC 1918, and the unique local addresses of IPv6.
    Private,
    /// A provider's own network, behind its address translation.
    Shared,
    /// Many receivers at once, or all of them.
    Multicast,
    /// For examples and for measurements between networks.
    Documentation,
    /// Leads into another network by a tunnel or translation.
    Transition,
    /// Assigned to nobody, or to protocols.
    Reserved,
}

impl AddressKind {
    /// What `address` is, or `None` when it is a public one.
    pub fn of(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "a loopback address",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "a cloud metadata address",
            Self::Private => "a private address",
            Self::Shared => "a shared (carrier) address",
            Self::Multicast => "a multicast or broadcast address",
            Self::Documentation => "a documentation or benchmarking address",
            Self::Transition => "a tunnel or translation address",
            Self::Reserved => "a reserved address",
        })
    }
}

fn of_v4(address: Ipv4Addr) -> Option<AddressKind> {
    let kind = match address.octets() {
        // The second one answers inside Azure only, and nothing public ever will.
        [169, 254, 169, 254] | [168, 63, 129, 16] => AddressKind::Metadata,
        // Alibaba's, within the carriers' range.
        [100, 100, 100, 200] => AddressKind::Metadata,
        [0, ..] => AddressKind::Unspecified,
        [127, ..] => AddressKind::Loopback,
        [169, 254, ..] => AddressKind::LinkLocal,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressKind::Private,
        [100, 64..=127, ..] => AddressKind::Shared,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [198, 18..=19, ..] => AddressKind::Documentation,
        [192, 88, 99, _] => AddressKind::Transition,
        [192, 0, 0, _] => AddressKind::Reserved,
        [224..=239, ..] | [255, 255, 255, 255] => AddressKind::Multicast,
        [240..=255, ..] => AddressKind::Reserved,
        _ => return None,
    };
    Some(kind)
}

fn of_v6(address: Ipv6Addr) -> Option<AddressKind> {
    let [first, second, third, ..] = address.segments();
    let kind = match (first, second, third) {
        _ if address.is_unspecified() => AddressKind::Unspecified,
        _ if address.is_loopback() => AddressKind::Loopback,
        _ if is_metadata(address) => AddressKind::Metadata,
        // `::ffff:a.b.c.d` is a.b.c.d to the operating system.
        _ if address.to_ipv4_mapped().is_some() => return of_v4(last_four_bytes(address)),
        // NAT64 by its well-known prefix: how a network without IPv4 reaches it.
        (0x64, 0xff9b, 0) if address.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] => {
            return of_v4(last_four_bytes(address));
        }
        (0x64, 0xff9b, _) => AddressKind::Transition,
        (0, ..) => AddressKind::Transition,
        (0xfc00..=0xfdff, ..) => AddressKind::Private,
        (0xfe80..=0xfebf, ..) => AddressKind::LinkLocal,
        (0xff00..=0xffff, ..) => AddressKind::Multicast,
        // 6to4 and Teredo.
        (0x2002, ..) | (0x2001, 0, _) => AddressKind::Transition,
        (0x2001, 0x2, 0) | (0x2001, 0xdb8, _) | (0x3fff, 0..=0xfff, _) => AddressKind::Documentation,
        (0x2001, 0..=0x1ff, _) => AddressKind::Reserved,
        // All that has been given out as public so far.
        (0x2000..=0x3fff, ..) => return None,
        _ => AddressKind::Reserved,
    };
    Some(kind)
}

fn is_metadata(address: Ipv6Addr) -> bool {
    const AMAZON: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    const GOOGLE: Ipv6Addr = Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254);
    address == AMAZON || address == GOOGLE
}

fn last_four_bytes(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn kind_of(address: &str) -> Option<AddressKind> {
        AddressKind::of(address.parse().unwrap())
    }

    #[test]
    fn public_addresses_are_nothing_else() {
        for address in ["8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0"] {
            assert_eq!(kind_of(address), None, "{address}");
        }
        for address in ["2606:4700::1111", "2a00:1450:4001::200e", "::ffff:8.8.8.8", "64:ff9b::808:808"] {
            assert_eq!(kind_of(address), None, "{address}");
        }
    }

    #[test]
    fn every_other_address_is_known_for_what_it_is() {
        use AddressKind::*;
        let table = [
            ("0.0.0.0", Unspecified),
            ("0.1.2.3", Unspecified),
            ("127.0.0.1", Loopback),
            ("127.255.255.254", Loopback),
            ("169.254.1.1", LinkLocal),
            ("169.254.169.254", Metadata),
            ("168.63.129.16", Metadata),
            ("100.100.100.200", Metadata),
            ("10.0.0.5", Private),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("192.168.1.1", Private),
            ("100.64.0.1", Shared),
            ("100.127.255.255", Shared),
            ("192.0.2.1", Documentation),
            ("198.51.100.1", Documentation),
            ("203.0.113.1", Documentation),
            ("198.18.0.1", Documentation),
            ("198.19.255.255", Documentation),
            ("192.88.99.1", Transition),
            ("192.0.0.8", Reserved),
            ("224.0.0.1", Multicast),
            ("239.255.255.250", Multicast),
            ("255.255.255.255", Multicast),
            ("240.0.0.1", Reserved),
            ("::", Unspecified),
            ("::1", Loopback),
            ("fd00:ec2::254", Metadata),
            ("fd20:ce::254", Metadata),
            ("fd00::1", Private),
            ("fc00::1", Private),
            ("fe80::1", LinkLocal),
            ("fec0::1", Reserved),
            ("ff02::1", Multicast),
            ("2001:db8::1", Documentation),
            ("3fff::1", Documentation),
            ("2001:2::1", Documentation),
            ("2001::1", Transition),
            ("2002:7f00:1::", Transition),
            ("2001:20::1", Reserved),
            ("100::1", Reserved),
            ("5f00::1", Reserved),
            ("4000::1", Reserved),
            ("::127.0.0.1", Transition),
            ("::ffff:0:127.0.0.1", Transition),
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:10.0.0.1", Private),
            ("::ffff:169.254.169.254", Metadata),
            ("64:ff9b::7f00:1", Loopback),
            ("64:ff9b::a9fe:a9fe", Metadata),
            ("64:ff9b:1::a00:1", Transition),
        ];

        for (address, kind) in table {
            assert_eq!(kind_of(address), Some(kind), "{address}");
        }
    }
}
