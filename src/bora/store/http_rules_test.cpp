// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Bora authors
#include "bora/store/http_rules.h"

#include <curl/curl.h>

#include "bora/store/bucket_words.h"
#include "bora/store/test_files.h"

namespace bora::store {
namespace {

using testing::HasSubstr;

TEST(BucketWords, AreOneLine) {
  EXPECT_EQ(bucket_words("When listing: no such bucket\nstack\ntrace"), "When listing: no such bucket");
  const std::string google =
      "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of Could not create a "
      "OAuth2 access token to authenticate the request. PerformWork() - CURL error [6]=Could not resolve "
      "hostname error_info={reason=, domain=, metadata={gcloud-cpp.retry.function=ListObjects}})";
  EXPECT_EQ(bucket_words(google), "Google's servers cannot be reached from here");
  EXPECT_THAT(bucket_words("google::cloud::Status(UNAUTHENTICATED: access token error_info={})"),
              HasSubstr("GOOGLE_APPLICATION_CREDENTIALS"));
  EXPECT_EQ(bucket_words("google::cloud::Status(NOT_FOUND: bucket error_info={reason=})"),
            "NOT_FOUND: bucket");
}

TEST(BucketWords, SayWhetherAnybodyAnswered) {
  EXPECT_TRUE(
      is_unreached("When getting information for key 'a' in bucket 'b': AWS Error NETWORK_CONNECTION during "
                   "HeadObject operation: curlCode: 7, Couldn't connect to server"));
  EXPECT_TRUE(
      is_unreached("google::cloud::Status(UNAVAILABLE: PerformWork() - CURL error [7]=Could not connect)"));
  EXPECT_FALSE(is_unreached("AWS Error ACCESS_DENIED during HeadObject operation: No response body."));
  EXPECT_FALSE(is_unreached("google::cloud::Status(UNAVAILABLE: 503 try again)"));
}

TEST(HttpRules, ClosedNetworks) {
  for (const char* address : {"127.0.0.1",
                              "127.255.255.255",
                              "0.0.0.0",
                              "10.0.0.1",
                              "10.255.0.1",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.168.1.1",
                              "169.254.169.254",
                              "100.64.0.1",
                              "100.127.255.255",
                              "198.19.0.1",
                              "224.0.0.1",
                              "255.255.255.255",
                              "192.0.0.1",
                              "::",
                              "::1",
                              "fe80::1",
                              "fe80::1%eth0",
                              "febf::1",
                              "fc00::1",
                              "fd12::1",
                              "fec0::1",
                              "ff02::1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.0.0.1",
                              "::ffff:a9fe:a9fe",
                              "::127.0.0.1",
                              "64:ff9b::10.0.0.1",
                              "64:ff9b:1::1",
                              "2002:7f00:1::",
                              "2002:0a00:0001::1"})
    EXPECT_TRUE(closed_network(address)) << address;
  for (const char* address : {"1.1.1.1",
                              "9.255.255.255",
                              "11.0.0.1",
                              "172.15.0.1",
                              "172.32.0.1",
                              "192.167.0.1",
                              "192.169.0.1",
                              "169.253.0.1",
                              "100.63.0.1",
                              "100.128.0.1",
                              "128.0.0.1",
                              "223.255.255.255",
                              "2606:4700::1111",
                              "::ffff:1.1.1.1",
                              "64:ff9b::1.1.1.1",
                              "2002:0101:0101::1",
                              "example.org",
                              "",
                              "1.2.3",
                              "fbff::1"})
    EXPECT_FALSE(closed_network(address)) << address;
  EXPECT_EQ(closed_network("192.168.0.1"), "a private network");
  EXPECT_EQ(closed_network("::1"), "this machine");
}

TEST(HttpRules, HostsThatLibrariesConnectTo) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:9000", "http://127.0.0.1:9000", "[::1]:9000", "::1",
                           "http://me:word@10.0.0.1/x", "169.254.169.254"})
    EXPECT_THAT(error_of(ErrorKind::Config, [&] { require_public("s3://bucket?CANARY", host); }),
                testing::AllOf(HasSubstr("s3://bucket?<redacted>: leads to "),
                               HasSubstr("data.allow_private_addresses: true")))
        << host;
  EXPECT_NO_THROW(require_public("s3://bucket", "1.1.1.1:80"));
}

TEST(HttpRules, Proxies) {
  EXPECT_TRUE(is_address_of("http://me:word@127.0.0.1:3128/", "127.0.0.1", 3128));
  EXPECT_TRUE(is_address_of("127.0.0.1:3128", "127.0.0.1", 3128));
  EXPECT_TRUE(is_address_of("[::1]:3128", "::1", 3128));
  EXPECT_TRUE(is_address_of("127.0.0.1", "127.0.0.1", 1080));
  EXPECT_FALSE(is_address_of("127.0.0.1:3128", "127.0.0.1", 80));
  EXPECT_FALSE(is_address_of("127.0.0.1:3128", "169.254.169.254", 3128));
}

TEST(HttpRules, Redirections) {
  check_redirection("http://a/x", "http://b/y");
  check_redirection("http://a/x", "HTTPS://b/y");
  check_redirection("https://a/x", "https://b/y");
  EXPECT_EQ(
      error_of(ErrorKind::Unsupported, [] { check_redirection("https://a/x?CANARY", "http://b/y?CANARY"); }),
      "https://a/x?<redacted>: the server points to http://b/y?<redacted>, and Bora goes from https to https "
      "only\nhint: fetch it yourself and give its path");
  for (const char* to : {"file:///etc/passwd", "ftp://b/y", "gopher://b", "b/y"})
    EXPECT_THAT(error_of(ErrorKind::Unsupported, [&] { check_redirection("http://a/x", to); }),
                HasSubstr("from http to http or https only"));
}

TEST(HttpRules, Headers) {
  EXPECT_TRUE(is_header_value("\"v1\""));
  EXPECT_FALSE(is_header_value("\"v1\"\r\nAuthorization: x"));
  EXPECT_FALSE(is_header_value("a\rb"));
  EXPECT_FALSE(is_header_value(std::string(5000, 'a')));
  EXPECT_EQ(parse_content_length("0"), 0);
  EXPECT_EQ(parse_content_length("9223372036854775807"), 9223372036854775807);
  for (const char* wrong : {"", "-0", "-5", "+5", " 5", "5 ", "5, 5", "0x5", "5e3", "9223372036854775808"})
    EXPECT_EQ(parse_content_length(wrong), std::nullopt) << wrong;
}

TEST(HttpRules, CertificatesDoNotChangeByAskingAgain) {
  for (const int never : {CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE,
                          CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS,
                          CURLE_SSL_CRL_BADFILE, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND,
                          CURLE_TOO_MANY_REDIRECTS, CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT})
    EXPECT_FALSE(may_pass(never)) << never;
  for (const int sometimes : {CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT, CURLE_RECV_ERROR,
                              CURLE_SSL_CONNECT_ERROR, CURLE_PARTIAL_FILE})
    EXPECT_TRUE(may_pass(sometimes)) << sometimes;
}

}  // namespace
}  // namespace bora::store
