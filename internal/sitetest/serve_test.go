package sitetest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// unpack returns the folder to serve for s, from the user's cache or, the
// first time, from Debian.
func (s site) unpack(t *testing.T) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	var id []string
	for _, p := range s.packages {
		id = append(id, p.name+"_"+p.version)
	}
	dir := filepath.Join(cache, "weir-sites", strings.Join(id, "+"))
	root := filepath.Join(dir, filepath.FromSlash(s.root))
	if _, err := os.Stat(root); err == nil {
		return root
	}
	must(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	tmp, err := os.MkdirTemp(filepath.Dir(dir), s.name)
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(tmp) })
	must(t, os.Chmod(tmp, 0o755))
	for _, p := range s.packages {
		deb := p.download(t)
		if out, err := exec.CommandContext(t.Context(), "dpkg", "-x", deb, tmp).CombinedOutput(); err != nil {
			t.Fatalf("unpacking %s: %v\n%s", p.name, err, out)
		}
	}
	// Renamed when whole, so that an interrupted run leaves nothing half there.
	if err := os.Rename(tmp, dir); err != nil {
		if _, other := os.Stat(root); other != nil { // else another run was faster
			t.Fatal(err)
		}
	}
	return root
}

// download asks apt for the package, and Debian's pool for a version that
// this machine's apt does not know.
func (p debian) download(t *testing.T) string {
	dir := t.TempDir()
	name := p.name
	if p.version != "" {
		name += "=" + p.version
	}
	out, err := apt(t, dir, "download", name)
	if err != nil && os.Geteuid() == 0 {
		// A fresh machine has no package lists, an old one has stale ones.
		if out, err = apt(t, dir, "update"); err == nil {
			out, err = apt(t, dir, "download", name)
		}
	}
	if err == nil {
		debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
		if err != nil || len(debs) != 1 {
			t.Fatalf("apt-get download %s left %v, %v", name, debs, err)
		}
		return debs[0]
	}
	if p.source == "" {
		t.Fatalf("apt-get download %s: %v\n%s\nThe sites are packages of Debian 12; try 'apt-get update' as root there, or leave them out with -short.", name, err, out)
	}
	deb := filepath.Join(dir, p.name+".deb")
	from := fmt.Sprintf("http://deb.debian.org/debian/pool/main/%s/%s_%s_all.deb", p.source, p.name, url.PathEscape(p.version))
	if poolErr := save(deb, from); poolErr != nil {
		t.Fatalf("apt-get download %s: %v\n%s\nand from the pool: %v", name, err, out, poolErr)
	}
	return deb
}

func apt(t *testing.T, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "apt-get", append([]string{"-q"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func save(file, from string) error {
	resp, err := http.Get(from)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", from, resp.Status)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(file, body, 0o644)
}

// server is an nginx that serves one folder on loopback.
type server struct {
	origin string
	log    string
	stop   func() // ends nginx and waits, so that its log is whole
}

const nginxConf = `
daemon off;
%[1]s
pid %[2]s/pid;
error_log stderr;
worker_processes 1;
events {}
http {
	include /etc/nginx/mime.types;
	default_type application/octet-stream;
	server_tokens off;
	log_format audit '$status $request_uri';
	access_log %[2]s/access.log audit;
	client_body_temp_path %[2]s/body;
	proxy_temp_path %[2]s/proxy;
	fastcgi_temp_path %[2]s/fastcgi;
	uwsgi_temp_path %[2]s/uwsgi;
	scgi_temp_path %[2]s/scgi;
	server {
		listen %[3]s;
		root "%[4]s";
	}
}
`

// serve starts nginx on a socket that is already open: nginx takes it over as
// if from an older binary of itself. So no port is guessed, and a connection
// made too early waits in the backlog.
func serve(t *testing.T, root string) *server {
	bin, err := exec.LookPath("nginx")
	if err != nil {
		bin = "/usr/sbin/nginx" // not on everybody's PATH
	}
	if _, err := os.Stat(bin); err != nil {
		t.Fatal("nginx is not installed: 'apt-get install nginx-light' as root, or leave the real sites out with -short")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	must(t, err)
	defer socket.Close()

	dir := t.TempDir()
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // the cache may be readable by its owner only
	}
	conf := filepath.Join(dir, "nginx.conf")
	must(t, os.WriteFile(conf, fmt.Appendf(nil, nginxConf, user, dir, listener.Addr(), root), 0o644))
	var stderr bytes.Buffer
	cmd := exec.Command(bin, "-e", "stderr", "-p", dir, "-c", conf)
	cmd.ExtraFiles = []*os.File{socket}
	cmd.Env = append(os.Environ(), "NGINX=3;")
	cmd.Stderr = &stderr
	must(t, cmd.Start())
	stopped := false
	s := &server{origin: "http://" + listener.Addr().String(), log: filepath.Join(dir, "access.log")}
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cmd.Process.Signal(syscall.SIGQUIT) // nginx: finish what is open, then quit
		if err := cmd.Wait(); err != nil {
			t.Errorf("nginx: %v\n%s", err, &stderr)
		}
	}
	t.Cleanup(s.stop)
	return s
}

// request is a line of the server's log.
type request struct {
	path   string
	status int
}

func (s *server) requests(t *testing.T) []request {
	f, err := os.Open(s.log)
	must(t, err)
	defer f.Close()
	var all []request
	for lines := bufio.NewScanner(f); lines.Scan(); {
		status, path, ok := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(status)
		if !ok || err != nil {
			t.Fatalf("the server's log has the line %q", lines.Text())
		}
		all = append(all, request{path, n})
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
