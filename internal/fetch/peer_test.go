package fetch

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"
)

// The benchmarks' server is this program again, so that what they count, CPU
// time and allocations, is the client's alone.
const (
	peerAnswer = "WEIR_FETCH_PEER_ANSWER" // what to say to every request, in base64
	peerCert   = "WEIR_FETCH_PEER_CERT"   // certificate and key, for TLS
	peerDrip   = "WEIR_FETCH_PEER_DRIP"   // how often, and how many bytes then; "": all at once
)

func init() {
	if answer := os.Getenv(peerAnswer); answer != "" {
		raw, err := base64.StdEncoding.DecodeString(answer)
		if err != nil {
			panic(err)
		}
		var every time.Duration
		size := len(raw)
		if drip := os.Getenv(peerDrip); drip != "" {
			var s string
			fmt.Sscan(drip, &s, &size)
			every, _ = time.ParseDuration(s)
		}
		servePeer(raw, []byte(os.Getenv(peerCert)), every, size)
		os.Exit(0)
	}
}

// servePeer prints its address and serves until its input ends.
func servePeer(answer, pair []byte, every time.Duration, size int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	if len(pair) > 0 {
		cert, err := tls.X509KeyPair(pair, pair)
		if err != nil {
			panic(err)
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}})
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 4096)
				for {
					n, err := c.Read(buf) // a request of ours is one segment
					if err != nil || !bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")) {
						return
					}
					for rest := answer; len(rest) > 0; {
						k := min(size, len(rest))
						if _, err := c.Write(rest[:k]); err != nil {
							return
						}
						if rest = rest[k:]; len(rest) > 0 {
							<-time.After(every)
						}
					}
					if bytes.Contains(buf[:n], []byte("Connection: close")) {
						return
					}
				}
			}()
		}
	}()
	io.Copy(io.Discard, os.Stdin)
}

// startPeer runs servePeer in another process.
func startPeer(b *testing.B, answer, pair, drip string) netip.AddrPort {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), peerAnswer+"="+base64.StdEncoding.EncodeToString([]byte(answer)), peerCert+"="+pair, peerDrip+"="+drip)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	var addr string
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		b.Fatal(err)
	}
	return netip.MustParseAddrPort(addr)
}

func pemOf(b *testing.B, c tls.Certificate) string {
	key, err := x509.MarshalECPrivateKey(c.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		b.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})) +
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key}))
}
