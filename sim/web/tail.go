package web

import "math"

// tail is a power law of whole numbers from 1 on: n is as frequent as
// n^-exponent, and what would be above the cap counts as the cap. It stands
// for sites of which a crawl takes the first pages only.
type tail struct {
	exponent float64
	cap      int
}

// above returns the sum of n^-exponent over all n >= cap, of which the terms
// from cap on are an integral.
func (t tail) above() float64 {
	return math.Pow(float64(t.cap)-0.5, 1-t.exponent) / (t.exponent - 1)
}

// weights calls f with the weight of every size below the cap, then with that
// of the cap.
func (t tail) weights(f func(n int, weight float64)) {
	for n := 1; n < t.cap; n++ {
		f(n, math.Pow(float64(n), -t.exponent))
	}
	f(t.cap, t.above())
}

func (t tail) mean() float64 {
	var all, sum float64
	t.weights(func(n int, w float64) {
		all += w
		sum += w * float64(n)
	})
	return sum / all
}

// solveTail finds the exponent that puts pages on sites. The mean falls as the
// exponent grows; means that no exponent reaches get the nearest.
func solveTail(pages, sites, most int) tail {
	lo, hi := 1.001, 30.0
	for range 40 {
		mid := (lo + hi) / 2
		if (tail{mid, most}).mean()*float64(sites) > float64(pages) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return tail{hi, most}
}

// siteSizes returns the pages of each site, smallest first. The sizes are not
// drawn but dealt: as many sites of each size as the power law says, so that
// one seed has no larger giants than the next. Rounding is made up for on the
// largest sites, which changes them least, and the sum is exactly pages.
func siteSizes(pages, sites, most int) []int {
	t := solveTail(pages, sites, most)
	var all float64
	t.weights(func(_ int, w float64) { all += w })
	size := make([]int, 0, sites)
	var at float64
	sum := 0
	t.weights(func(n int, w float64) {
		at += w
		for to := int(math.Round(at / all * float64(sites))); len(size) < min(to, sites); sum += n {
			size = append(size, n)
		}
	})
	for ; len(size) < sites; sum += most {
		size = append(size, most)
	}
	for sum != pages {
		for i := len(size) - 1; i >= 0 && sum != pages; i-- {
			switch {
			case sum < pages && size[i] < most:
				size[i]++
				sum++
			case sum > pages && size[i] > 1:
				size[i]--
				sum--
			}
		}
	}
	return size
}
