//! One host whose TCP/IP is smoltcp's, with one connection (../smoltcp.h has the C interface).

use smoltcp::iface::{Interface, InterfaceBuilder, SocketHandle};
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::socket::{TcpSocket, TcpSocketBuffer, TcpState};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{IpAddress, IpCidr};
use smoltcp::Result;
use std::collections::VecDeque;
use std::slice;

const MTU: usize = 1500;
const BUFFER: usize = 32768;

/// Packets in both directions; nothing is lost here.
#[derive(Default)]
struct Wire {
    arrived: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
}

struct Arrived(Vec<u8>);
struct Sent<'a>(&'a mut VecDeque<Vec<u8>>);

impl phy::RxToken for Arrived {
    fn consume<R, F: FnOnce(&mut [u8]) -> Result<R>>(mut self, _: Instant, f: F) -> Result<R> {
        f(&mut self.0)
    }
}

impl phy::TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> Result<R>>(self, _: Instant, n: usize, f: F) -> Result<R> {
        let mut packet = vec![0; n];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl<'a> phy::Device<'a> for Wire {
    type RxToken = Arrived;
    type TxToken = Sent<'a>;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut has = DeviceCapabilities::default();
        has.max_transmission_unit = MTU;
        has.medium = Medium::Ip;
        has
    }

    fn receive(&'a mut self) -> Option<(Arrived, Sent<'a>)> {
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Sent(&mut self.sent)))
    }

    fn transmit(&'a mut self) -> Option<Sent<'a>> {
        Some(Sent(&mut self.sent))
    }
}

pub struct Peer {
    host: Interface<'static, Wire>,
    socket: SocketHandle,
}

impl Peer {
    fn socket(&mut self) -> &mut TcpSocket<'static> {
        self.host.get_socket(self.socket)
    }
}

/// smoltcp has no window probes: an answered keep-alive replaces a window update that is lost. To be called when a
/// connection begins, which clears it.
fn keep_alive(socket: &mut TcpSocket) {
    socket.set_keep_alive(Some(Duration::from_secs(1)));
}

fn ip(of: u32) -> IpAddress {
    let b = of.to_be_bytes();
    IpAddress::v4(b[0], b[1], b[2], b[3])
}

/// # Safety
/// As in C: what pointers name is there, and of that length.
#[no_mangle]
pub extern "C" fn smoltcp_begin(own: u32, seed: u32) -> *mut Peer {
    let buffer = || TcpSocketBuffer::new(vec![0; BUFFER]);
    let socket = TcpSocket::new(buffer(), buffer());
    let mut host = InterfaceBuilder::new(Wire::default(), vec![])
        .ip_addrs(vec![IpCidr::new(ip(own), 24)])
        .random_seed(seed.into())
        .finalize();
    let socket = host.add_socket(socket);
    Box::into_raw(Box::new(Peer { host, socket }))
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_end(p: *mut Peer) {
    drop(Box::from_raw(p));
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_listen(p: *mut Peer, port: u16) -> bool {
    let socket = (*p).socket();
    let done = socket.listen(port).is_ok();
    keep_alive(socket);
    done
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_connect(p: *mut Peer, to: u32, port: u16, own: u16) -> bool {
    let p = &mut *p;
    let (socket, context) = p.host.get_socket_and_context::<TcpSocket>(p.socket);
    let done = socket.connect(context, (ip(to), port), own).is_ok();
    keep_alive(socket);
    done
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_input(p: *mut Peer, packet: *const u8, n: u32) {
    (*p).host.device_mut().arrived.push_back(slice::from_raw_parts(packet, n as usize).to_vec());
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_poll(p: *mut Peer, ms: u32) {
    let _ = (*p).host.poll(Instant::from_millis(ms)); // an error is a packet that it drops
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_due(p: *mut Peer, ms: u32) -> u32 {
    match (*p).host.poll_delay(Instant::from_millis(ms)) {
        Some(delay) => delay.total_millis().min(u32::MAX.into()) as u32,
        None => u32::MAX,
    }
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_output(p: *mut Peer, packet: *mut u8, most: u32) -> u32 {
    match (*p).host.device_mut().sent.pop_front() {
        Some(sent) => {
            assert!(sent.len() <= most as usize);
            slice::from_raw_parts_mut(packet, sent.len()).copy_from_slice(&sent);
            sent.len() as u32
        }
        None => 0,
    }
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_write(p: *mut Peer, bytes: *const u8, n: u32) -> u32 {
    let socket = (*p).socket();
    if !socket.can_send() {
        return 0;
    }
    socket.send_slice(slice::from_raw_parts(bytes, n as usize)).map_or(0, |n| n as u32)
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_read(p: *mut Peer, bytes: *mut u8, n: u32) -> u32 {
    let socket = (*p).socket();
    if !socket.can_recv() {
        return 0;
    }
    socket.recv_slice(slice::from_raw_parts_mut(bytes, n as usize)).map_or(0, |n| n as u32)
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_close(p: *mut Peer) {
    (*p).socket().close();
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_has_end(p: *mut Peer) -> bool {
    let socket = (*p).socket();
    socket.state() == TcpState::CloseWait && !socket.can_recv()
}

#[no_mangle]
pub unsafe extern "C" fn smoltcp_is_over(p: *mut Peer) -> bool {
    matches!((*p).socket().state(), TcpState::Closed | TcpState::TimeWait)
}
