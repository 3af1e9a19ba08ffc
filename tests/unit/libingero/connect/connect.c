// SPDX-License-Identifier: Apache-2.0
/* What ingero_connect() refuses before anybody is asked, and in which words. */
#include "ingero/connect.h"

#include <errno.h>
#include <pwd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static char error[512];

static int refused(const struct ingero_connect_wish *wish)
{
	struct ingero *ingero = NULL;
	int r;

	memset(error, 0, sizeof(error));
	r = ingero_connect(wish, error, sizeof(error), &ingero, NULL);
	if (r == 0)
		ingero_close(ingero);
	return r;
}

/* What root's environment may say of who typed sudo, and none of it is a user. */
static void sudo_test(void)
{
	static const struct {
		const char *uid;
		const char *gid;
	} unclear[] = { { "1000", NULL }, { NULL, "1000" }, { "abc", "100" }, { "", "" }, { "1000", "-1" } };
	const struct ingero_connect_wish wish = { .db_path = "/nonexistent/ingero.db" };

	for (size_t i = 0; i < ARRAY_SIZE(unclear); i++) {
		const char *name = unclear[i].uid ? unclear[i].uid : "no user";

		if (unclear[i].uid)
			(void)setenv("SUDO_UID", unclear[i].uid, 1);
		if (unclear[i].gid)
			(void)setenv("SUDO_GID", unclear[i].gid, 1);
		CHECK_INT_EQ(name, refused(&wish), -EINVAL);
		CHECK(name, strstr(error, "cannot tell which user typed sudo"));
		(void)unsetenv("SUDO_UID");
		(void)unsetenv("SUDO_GID");
	}
	CHECK_INT_EQ("nobody typed sudo", refused(&wish), -ENOENT);
}

/* A name's control characters reach no terminal, wherever the name comes from. */
static void home_test(void)
{
	const struct ingero_connect_wish wish = { .kind = INGERO_CONNECT_READ };

	if (access("/run/ingero.sock", F_OK) == 0)
		return; /* a service answers here */
	(void)setenv("HOME", "/nonexistent/\x1b[2J", 1);
	CHECK_INT_EQ("nothing recorded", refused(&wish), -ENOENT);
	CHECK("nothing recorded", strstr(error, "nothing was recorded yet: no file '/nonexistent/"));
	CHECK("nothing recorded", !strchr(error, '\x1b'));
}

/* getpwuid(3) has one answer at a time, which is the client's: whoever else asks takes it away. */
static void user_test(void)
{
	const struct ingero_connect_wish wish = { .kind = INGERO_CONNECT_READ };
	const struct passwd *nobody = getpwuid(65534);
	CLEANUP(freep) char *name = nobody ? strdup(nobody->pw_name) : NULL;

	if (!name || access("/run/ingero.sock", F_OK) == 0)
		return; /* there is no such user, or a service answers here */
	(void)unsetenv("HOME");
	(void)refused(&wish); /* or not: root may have recorded something */
	CHECK_STR_EQ("what the client looked up", nobody->pw_name, name);
}

/* Last: for good nobody. */
static void private_test(void)
{
	static const struct {
		const char *why;
		const char *want;
	} cases[] = {
		{ "--back-end", "'--back-end' needs a daemon of its own, which only root can start; try 'sudo ingero "
				"trace --back-end ...'" },
		{ NULL, "'ingero trace' needs a daemon of its own here, which only root can start; try 'sudo ingero "
			"trace ...'" },
	};

	if (setresuid(65534, 65534, 65534) != 0)
		CHECK_SKIP("cannot become nobody");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct ingero_connect_wish wish = {
			.kind = INGERO_CONNECT_LOOK,
			.needs_private = true,
			.needs_private_why = cases[i].why,
			.command = "trace",
		};

		CHECK_INT_EQ(cases[i].want, refused(&wish), -EPERM);
		CHECK_STR_EQ(cases[i].want, error, cases[i].want);
	}
}

int main(void)
{
	(void)unsetenv("SUDO_UID");
	(void)unsetenv("SUDO_GID");
	(void)unsetenv("INGERO_DB");
	if (getuid() != 0 || geteuid() != 0)
		CHECK_SKIP("needs root, to whom sudo's variables speak");
	sudo_test();
	home_test();
	user_test();
	private_test();
	return check_result();
}
