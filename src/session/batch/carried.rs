//! Parts of what a decoder reports, on their way to another process: of their events those that a check
//! reads, without fields.

use dissectors::kit::Portable;

use super::super::merge::Part;
use super::{Batch, Decoded, Details, Entry, Found, Kind, Record};

dissectors::portable!(struct Part { events, begun, needed, through });
dissectors::portable!(
    enum Kind {
        Record,
        CrossFlow,
        Icmp,
        Datagram,
        FlowEnded,
        File,
    }
);
dissectors::portable!(struct Entry { order, kind, at });
dissectors::portable!(struct Found { findings, left_out, passes });
dissectors::portable!(struct Details { findings, left_out, passes });
dissectors::portable!(struct Record { context, message, details });

impl Portable for Decoded {
    fn write(&self, to: &mut Vec<u8>) {
        (self.message, self.bytes, self.pieces).write(to);
        (self.frame, self.time, self.side, self.transport).write(to);
        (self.inflated, self.headers, self.lost, self.length).write(to);
        (self.reply, self.sending).write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Decoded> {
        let (message, bytes, pieces) = Portable::read(from)?;
        let (frame, time, side, transport) = Portable::read(from)?;
        let (inflated, headers, lost, length) = Portable::read(from)?;
        let (reply, sending) = Portable::read(from)?;
        let (fields, listed) = (None, Default::default());
        Some(Decoded {
            message,
            bytes,
            pieces,
            fields,
            frame,
            time,
            side,
            transport,
            inflated,
            headers,
            lost,
            length,
            reply,
            sending,
            listed,
        })
    }
}

impl Portable for Batch {
    fn write(&self, to: &mut Vec<u8>) {
        self.entries.write(to);
        let records = self.records.get(..self.records_in_use).unwrap_or_default();
        records.len().write(to);
        records.iter().for_each(|record| record.write(to));
        self.cross_flow.write(to);
        self.details.write(to);
        self.found.write(to);
        self.bytes.write(to);
        self.pieces.write(to);
        self.servers.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Batch> {
        let (entries, records) = (Portable::read(from)?, Vec::<Record>::read(from)?);
        Some(Batch {
            entries,
            records_in_use: records.len(),
            records,
            cross_flow: Portable::read(from)?,
            details: Portable::read(from)?,
            found: Portable::read(from)?,
            bytes: Portable::read(from)?,
            pieces: Portable::read(from)?,
            servers: Portable::read(from)?,
            ..Batch::default()
        })
    }
}
