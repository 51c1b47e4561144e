package stats

import "math"

// normalQuantile is the z that a standard normal variable does not exceed with probability p.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// normalTail is the probability that a standard normal variable does not exceed z.
func normalTail(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// studentTail is the probability that Student's t with df > 0 degrees of freedom does not exceed t
// (Abramowitz and Stegun 26.7.1, by the incomplete beta function).
func studentTail(t, df float64) float64 {
	beyond := incompleteBeta(df/2, 0.5, df/(df+t*t)) / 2
	if t > 0 {
		return 1 - beyond
	}
	return beyond
}

// studentQuantile is the t that Student's t with df > 0 degrees of freedom does not exceed with probability p in (0,
// 1).
func studentQuantile(p, df float64) float64 {
	if p < 0.5 {
		return -studentQuantile(1-p, df)
	}
	low, high := 0.0, 1.0
	for studentTail(high, df) < p && high < 1e12 {
		low, high = high, 2*high
	}
	for high-low > 1e-10*(1+high) {
		if mid := (low + high) / 2; studentTail(mid, df) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// incompleteBeta is the regularised incomplete beta function I_x(a, b) for a, b > 0 and x in [0, 1], by Lentz's
// evaluation of its continued fraction (Abramowitz and Stegun 26.5.8), on the side where that converges fast.
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(b, a, 1-x)
	}
	both, _ := math.Lgamma(a + b)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	front := math.Exp(both-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	const tiny = 1e-300
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	h := d
	for m := 1.0; m < 10_000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/away(1+even*d), away(1+even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/away(1+odd*d), away(1+odd/c)
		h *= d * c
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return front * h
}
