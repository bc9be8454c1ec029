package survey

import "math"

// z is how many standard errors lie on either side of four fifths of a normal
// distribution.
const z = 1.2816

// students are those of Student's distribution with few degrees of freedom, from
// one on.
var students = [...]float64{3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372}

func student(freedom int64) float64 {
	if freedom <= int64(len(students)) {
		return students[max(freedom, 1)-1]
	}
	return z + (z*z*z+z)/(4*float64(freedom)) // the first terms of its series
}

// alone is the doubt in a mean of which one page is known: a factor of four.
var alone = math.Log(4)

// meanDoubt returns how far the mean of a population may be from that of n drawn
// from it, as a logarithm. Sizes of pages are skewed: many small, few large. So
// the doubt is taken as a factor, which reaches farther up than down. It is still
// too small where few large pages weigh the most: a small sample misses them.
func meanDoubt(n int64, sum, squares float64) float64 {
	if n < 2 || sum <= 0 {
		return alone
	}
	mean := sum / float64(n)
	variance := max(squares-sum*mean, 0) / float64(n-1)
	return student(n-1) * math.Sqrt(variance/float64(n)) / mean
}

// shareDoubt returns the same for a share of which good in n were seen, down and
// up (Wilson's interval).
func shareDoubt(good, n int) (down, up float64) {
	if good == 0 || n == 0 {
		return 0, 0
	}
	k := float64(n)
	p := float64(good) / k
	centre := p + z*z/(2*k)
	half := z * math.Sqrt(p*(1-p)/k+z*z/(4*k*k))
	scale := 1 + z*z/k
	return math.Log(p * scale / (centre - half)), max(math.Log(min((centre+half)/scale, 1)/p), 0)
}

// factor joins two doubts that have nothing to do with each other.
func factor(a, b float64) float64 { return math.Exp(math.Hypot(a, b)) }

// unseen returns how many pages a site has that none of those that were looked at
// links to, and the doubt in that, by how many are linked to once and twice: where
// most were met a second time, few are left (Chao 1987, "Estimating the
// population size for capture-recapture data with unequal catchability"; the form
// for incidences, without bias). Pages that all others lead to do not disturb it.
// It is rather the least: parts that a sample does not come near stay unseen.
func unseen(looks, once, twice int64) (pages, doubt float64) {
	if looks < 2 || once < 2 {
		return 0, 0
	}
	a := float64(looks-1) / float64(looks)
	one, two := float64(once), float64(twice)
	pages = a * one * (one - 1) / (2 * (two + 1))
	variance := pages +
		a*a*one*(2*one-1)*(2*one-1)/(4*(two+1)*(two+1)) +
		a*a*one*one*two*(one-1)*(one-1)/(4*math.Pow(two+1, 4))
	return pages, z * math.Sqrt(math.Log1p(variance/(pages*pages)))
}
