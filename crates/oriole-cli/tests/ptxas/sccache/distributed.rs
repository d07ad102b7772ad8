//! Compilations that sccache spreads over build servers: a scheduler and two servers on this machine.
//!
//! The servers take the compiler with the file's own name, and what it is without links: it has to be a copy called `ptxas`.

use super::{Folder, SCCACHE, Server, free_port, of_cubins};
use oriole_prerequisites::{program, tool_of};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BWRAP: &str = "/usr/bin/bwrap";
/// Compilations, so many at a time: what is more than the servers take is compiled by the client, and a server takes one more than it has cores.
const FILES: usize = 12;
const AT_A_TIME: usize = 2;
const SERVERS: u64 = 2;

/// A scheduler and servers, which end with the test.
struct Cluster(Vec<Child>);

impl Cluster {
    fn start(sccache_dist: &Path, folder: &Folder) -> Cluster {
        let scheduler = format!("127.0.0.1:{}", free_port());
        let mut cluster = Cluster(Vec::new());
        let auth = |section: &str, word: &str| format!("[{section}]\ntype = \"token\"\ntoken = \"{word}\"\n");
        let address = format!("public_addr = \"{scheduler}\"\n");
        let text = address + &auth("client_auth", "client") + &auth("server_auth", "server");
        cluster.run(sccache_dist, folder, "scheduler", "scheduler.conf", &text);
        for number in 0..SERVERS {
            let [toolchains, build] = ["toolchains", "build"].map(|name| folder.path(&format!("{name}{number}")));
            let text = format!(
                "cache_dir = {toolchains:?}\npublic_addr = \"127.0.0.1:{}\"\nscheduler_url = \"http://{scheduler}\"\n\
                 [builder]\ntype = \"overlay\"\nbuild_dir = {build:?}\nbwrap_path = \"{BWRAP}\"\n{}",
                free_port(),
                auth("scheduler_auth", "server")
            );
            cluster.run(sccache_dist, folder, "server", &format!("server{number}.conf"), &text);
        }
        let text = format!(
            "[dist]\nscheduler_url = \"http://{scheduler}\"\ntoolchains = []\ncache_dir = {:?}\n{}",
            folder.path("toolchains"),
            auth("dist.auth", "client")
        );
        std::fs::write(folder.path("sccache.conf"), text).expect("written");
        cluster
    }

    fn run(&mut self, sccache_dist: &Path, folder: &Folder, what: &str, name: &str, text: &str) {
        std::fs::write(folder.path(name), text).expect("written");
        let mut command = Command::new(sccache_dist);
        command.arg(what).arg("--config").arg(folder.path(name)).env("SCCACHE_NO_DAEMON", "1");
        self.0.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// sccache, sccache-dist, and that servers can work here: as root, with namespaces for bubblewrap.
fn tools() -> Option<[PathBuf; 2]> {
    let tools = [tool_of(SCCACHE, "sccache")?, tool_of(SCCACHE, "sccache-dist")?];
    program(BWRAP)?;
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    let sandbox = Command::new(BWRAP).args(["--unshare-pid", "--ro-bind", "/", "/", "true"]).output();
    if !is_root || !sandbox.is_ok_and(|output| output.status.success()) {
        println!("skipped: build servers of sccache need root and namespaces");
        return None;
    }
    Some(tools)
}

fn wait_for_servers(client: &Server<'_>) {
    let start = Instant::now();
    loop {
        let status = client.call(&["--dist-status"]);
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap_or_default();
        if status["SchedulerStatus"][1]["num_servers"] == SERVERS {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(120), "{status}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Every file by `run`, some at a time.
fn all(run: impl Fn(usize) + Sync) {
    let run = &run;
    std::thread::scope(|scope| {
        for first in 0..AT_A_TIME {
            scope.spawn(move || (first..FILES).step_by(AT_A_TIME).for_each(run));
        }
    });
}

#[test]
fn servers_of_sccache_make_the_same_cubins() {
    let Some([sccache, sccache_dist]) = tools() else { return };
    let folder = Folder::new();
    std::fs::create_dir(folder.path("bin")).expect("made");
    let ptxas = folder.path("bin/ptxas");
    std::fs::copy(env!("CARGO_BIN_EXE_oriole"), &ptxas).expect("copied");
    let ptxas = ptxas.to_str().expect("text");
    let kernels = std::fs::read_to_string(folder.path("k.ptx")).expect("written");
    for number in 0..FILES {
        let text = kernels.replace("add.u32 %v,%v,%v", &format!("add.u32 %v,%v,{number}"));
        std::fs::write(folder.path(&format!("k{number}.ptx")), text).expect("written");
    }
    let cluster = Cluster::start(&sccache_dist, &folder);
    let client = Server::start(sccache, &folder);
    wait_for_servers(&client);
    let compile = |end: &str, number: usize| {
        let [input, output] = [format!("k{number}.ptx"), format!("k{number}.{end}")];
        let output = client.call(&[ptxas, "-arch=sm_90", "-m64", "-v", &input, "-o", &output]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("ptxas info    : Used "), "{said}");
    };
    all(|number| compile("first", number));
    all(|number| compile("second", number));
    for number in 0..FILES {
        let [input, alone] = [format!("k{number}.ptx"), format!("k{number}.alone")];
        assert!(folder.run(&["-arch=sm_90", "-m64", &input, "-o", &alone]).status.success());
        let [alone, first, second] = ["alone", "first", "second"]
            .map(|end| std::fs::read(folder.path(&format!("k{number}.{end}"))).expect("a cubin"));
        assert!(alone == first && alone == second, "{input}");
    }
    // What is wrong with a file is said as it is said here.
    let [far, near] = [
        client.call(&[ptxas, "-arch=sm_90", "bad.ptx", "-o", "bad"]),
        folder.run(&["-arch=sm_90", "bad.ptx", "-o", "bad"]),
    ];
    assert_eq!(far.status.code(), near.status.code());
    let said = String::from_utf8_lossy(&far.stderr).into_owned();
    assert!(said.contains(&*String::from_utf8_lossy(&near.stderr)), "{said}");
    let statistics = client.statistics();
    let counts = ["cache_misses", "cache_hits"].map(|what| of_cubins(&statistics, what));
    assert_eq!(counts, [Some(FILES as u64); 2], "{statistics}");
    let by_servers = statistics["dist_compiles"].as_object().expect("counts by server");
    let by_servers: u64 = by_servers.values().filter_map(serde_json::Value::as_u64).sum();
    // The wrong one, too.
    assert_eq!((by_servers, &statistics["dist_errors"]), (FILES as u64 + 1, &0.into()), "{statistics}");
    drop(client);
    drop(cluster);
}
