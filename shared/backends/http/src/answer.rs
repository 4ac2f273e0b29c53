//! What a server answered.

use reqwest::{Response, StatusCode};
use url::Url;

use crate::{EgressError, error::host_of};

/// An answer whose body has not been read; dropping it closes the connection.
#[derive(Debug)]
pub struct Answer {
    pub(crate) response: Response,
    /// In bytes.
    pub(crate) max_body: usize,
}

impl Answer {
    /// How the request went, in the server's words.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Who answered: the URL asked for, or where it redirected to.
    pub fn url(&self) -> &Url {
        self.response.url()
    }

    /// The whole body.
    ///
    /// # Errors
    /// `TooLarge` as soon as more than `maxBodyBytes` came, `Late` when the request's deadline has passed.
    pub async fn body(mut self) -> Result<Vec<u8>, EgressError> {
        let url = self.response.url().clone();
        let mut body = Vec::new();
        while let Some(chunk) = self.response.chunk().await.map_err(|source| EgressError::of(&url, source))? {
            if body.len() + chunk.len() > self.max_body {
                return Err(EgressError::TooLarge { host: host_of(&url), limit: self.max_body });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}
