// SPDX-License-Identifier: Apache-2.0
/* Functions of C++ whose names are read by the tests: namespaces, templates, operators, lambdas, constructors. */
#include <map>
#include <string>
#include <vector>

#define EXPORT __attribute__((visibility("default"), noinline))

namespace sample
{
struct EXPORT shape {
	shape();
	virtual ~shape();
	virtual double area() const;
	shape &operator+=(const shape &other);
	double size = 0;
};

shape::shape() : size(1)
{
}

shape::~shape()
{
	size = 0;
}

double shape::area() const
{
	return size * size;
}

shape &shape::operator+=(const shape &other)
{
	size += other.size;
	return *this;
}

namespace
{
__attribute__((noinline, used)) int hidden(int x)
{
	return x * 7;
}
} // namespace

template <typename T> EXPORT T largest(const std::vector<T> &items)
{
	T best = items.front();

	for (const T &item : items)
		if (best < item)
			best = item;
	return best;
}

template int largest<int>(const std::vector<int> &);
template std::string largest<std::string>(const std::vector<std::string> &);

template <int N> struct nested {
	static int depth()
	{
		return nested<N - 1>::depth() + hidden(N);
	}
};

template <> struct nested<0> {
	static int depth()
	{
		return 0;
	}
};
} // namespace sample

/* Its name is longer than a text may be. */
template <typename A, typename B> EXPORT int long_name(const std::map<A, B> &, const std::map<B, A> &)
{
	return 1;
}
using deep = std::map<std::string, std::map<std::string, std::map<std::string, std::vector<std::string>>>>;
template int long_name<deep, std::string>(const std::map<deep, std::string> &, const std::map<std::string, deep> &);

extern "C" EXPORT int sample_plus(int x)
{
	auto twice = [x](int y) __attribute__((noinline)) { return x * y + sample::nested<3>::depth(); };

	return twice(x) + twice(x + 1);
}
