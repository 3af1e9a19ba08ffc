// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Internet sockets: the peer's address, and whether two sockets are the ends of one connection.
 */
#pragma once

#include "maps.h"

static __always_inline struct sock *file_sock(__u64 file_address)
{
	struct file *file = (struct file *)file_address;
	struct socket *socket;

	if ((BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return NULL;
	socket = BPF_CORE_READ(file, private_data);
	return socket ? BPF_CORE_READ(socket, sk) : NULL;
}

/* @name: must be zero; unchanged if the socket is not connected or not an internet socket */
VERIFIED_ALONE int peer_note(struct peer_name *name, __u64 file)
{
	struct sock *sk;
	__u16 family, port;

	if (!name)
		return 0;
	sk = file_sock(file);
	if (!sk)
		return 0;
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	port = BPF_CORE_READ(sk, __sk_common.skc_dport);
	if (!port || (family != AF_INET && family != AF_INET6))
		return 0;
	if (family == AF_INET) {
		__be32 address = BPF_CORE_READ(sk, __sk_common.skc_daddr);

		__builtin_memcpy(name->address, &address, sizeof(address));
	} else {
		struct in6_addr address = BPF_CORE_READ(sk, __sk_common.skc_v6_daddr);

		__builtin_memcpy(name->address, &address, sizeof(address));
	}
	__builtin_memcpy(name->port, &port, sizeof(port));
	name->family = family;
	return 0;
}

static __always_inline bool is_same_address(const struct in6_addr *a, const struct in6_addr *b)
{
	const __u64 *x = (const __u64 *)a, *y = (const __u64 *)b;

	return x[0] == y[0] && x[1] == y[1];
}

static __always_inline __u16 port_swap(__u16 port)
{
	return __builtin_bswap16(port);
}

/* Whether two files are connected sockets, each the peer of the other, in one network namespace. */
VERIFIED_ALONE int are_peers(__u64 file, __u64 other_file)
{
	struct sock *a = file_sock(file), *b = file_sock(other_file);
	struct in6_addr from, to;
	__u16 family;

	if (!a || !b || a == b)
		return 0;
	family = BPF_CORE_READ(a, __sk_common.skc_family);
	if (family != BPF_CORE_READ(b, __sk_common.skc_family) || (family != AF_INET && family != AF_INET6) ||
	    BPF_CORE_READ(a, __sk_common.skc_net.net) != BPF_CORE_READ(b, __sk_common.skc_net.net))
		return 0;
	if (BPF_CORE_READ(a, __sk_common.skc_num) != port_swap(BPF_CORE_READ(b, __sk_common.skc_dport)) ||
	    BPF_CORE_READ(b, __sk_common.skc_num) != port_swap(BPF_CORE_READ(a, __sk_common.skc_dport)))
		return 0;
	if (family == AF_INET)
		return BPF_CORE_READ(a, __sk_common.skc_rcv_saddr) == BPF_CORE_READ(b, __sk_common.skc_daddr) &&
		       BPF_CORE_READ(b, __sk_common.skc_rcv_saddr) == BPF_CORE_READ(a, __sk_common.skc_daddr);
	from = BPF_CORE_READ(a, __sk_common.skc_v6_rcv_saddr);
	to = BPF_CORE_READ(b, __sk_common.skc_v6_daddr);
	if (!is_same_address(&from, &to))
		return 0;
	from = BPF_CORE_READ(b, __sk_common.skc_v6_rcv_saddr);
	to = BPF_CORE_READ(a, __sk_common.skc_v6_daddr);
	return is_same_address(&from, &to);
}
