// Colly crawls the sites named on its command line with github.com/gocolly/colly,
// following every link on each host, for comparison with weir on the same job.
// It lies in a module of its own so that weir does not depend on it.
package main

import (
	"fmt"
	"log"
	"net/url"
	"os"
	"sync/atomic"

	"github.com/gocolly/colly/v2"
)

func main() {
	var hosts []string
	for _, seed := range os.Args[1:] {
		u, err := url.Parse(seed)
		if err != nil {
			log.Fatal(err)
		}
		hosts = append(hosts, u.Hostname())
	}
	var pages atomic.Int64
	c := colly.NewCollector(colly.Async(true), colly.AllowedDomains(hosts...))
	c.IgnoreRobotsTxt = false
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 20}); err != nil {
		log.Fatal(err)
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { _ = e.Request.Visit(e.Attr("href")) })
	c.OnResponse(func(*colly.Response) { pages.Add(1) })
	for _, seed := range os.Args[1:] {
		_ = c.Visit(seed) // another site may have led there already
	}
	c.Wait()
	fmt.Println(pages.Load())
}
