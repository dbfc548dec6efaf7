"""Context words by type, and the words that say that a number is something else."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(","))


CARD_WORDS = _words(
    """
    card, cards, visa, mastercard, amex, american express, discover, diners, diners club, jcb, maestro,
    unionpay, rupay, credit, debit, pan, cc, cardnumber, card number, creditcard, card no, cardholder,
    payment, pay, pays, paid, paying, charge, charged, refund, refunded, karte, kreditkarte, carte,
    tarjeta, carta
    """
)
PHONE_WORDS = _words(
    """
    phone, phones, phoned, telephone, telephones, tel, mobile, mobiles, mob, cell, cellphone, call,
    calls, called, calling, caller, callback, ring, rings, rang, ringing, dial, dialled, dialed, text,
    texted, sms, fax, whatsapp, signal, contact, reach, reached, hotline, helpline, landline, voicemail,
    pager, bleep, phonenumber, phone number, phoneno, mobilenumber, mobileno, telefon, telefono,
    telephon, handy, mobil, movil, portable, numero, telno, telnr, contactnumber, homephone, workphone,
    cellnumber, faxnumber, daytime, evening, direct line, direct dial, switchboard, extension, ext
    """
)
ACCOUNT_WORDS = _words(
    """
    account, accounts, acct, accts, acc, a/c, accountnumber, accountno, acctno, acctnum, accountid,
    bankaccount, konto, kontonummer, compte, cuenta, conto
    """
)
SORT_WORDS = _words("sort code, sort codes, sortcode, sortcodes, s/c, sort, bank code")
NHS_WORDS = _words(
    """
    nhs, nhsnumber, nhsno, nhs number, patient number, patient no, patient id, chi number, chi
    """
)
SSN_WORDS = _words(
    """
    ssn, ssns, ss, social security, social security number, socialsecurity, soc sec, social, taxpayer,
    tin, itin
    """
)
BIRTH_WORDS = _words(
    """
    date of birth, dob, d.o.b, d o b, born, birth, birthday, birthdate, birth date, dateofbirth,
    geboren, geburtsdatum, nacimiento, naissance, nascita, (b.
    """
)
SECRET_WORDS = _words("secret access key, secretaccesskey, secret key, secretkey, aws secret")
IP_WORDS = _words(
    """
    ip, ips, host, hosts, hostname, address, server, servers, ping, client, gateway, dns, subnet, router
    """
)
ADDRESS_WORDS = _words(
    """
    address, addresses, lives, live, living, resides, street, postcode, zip, delivery, ship to, home
    """
)

NOT_AN_ACCOUNT = _words(
    """
    order, orders, invoice, invoices, ticket, tickets, case, reference, ref, tracking, parcel, shipment,
    isbn, issn, version, build, part, parts, serial, sku, model, units, balance, amount, total,
    timestamp, epoch, logged, event, time, at, since, until, sold, sort code, phone, tel, telephone,
    mobile, nhs, ssn, ip, port, pid, page, pages, row, rows, line, lines, commit, revision, ean, upc
    """
)
NOT_A_PHONE = _words(
    """
    order, orders, invoice, ticket, reference, ref, tracking, parcel, isbn, issn, version, part, serial,
    sku, timestamp, epoch, logged, units, sold, iban, account, acct, nhs, ssn, sort code, card, ean,
    upc, commit, invoice number, order number
    """
)
NOT_AN_SSN = _words(
    """
    order, orders, invoice, ticket, reference, ref, tracking, isbn, part, serial, sku, phone, tel,
    timestamp, zip
    """
)
NOT_A_BIRTH = _words(
    """
    admitted, admission, discharged, discharge, died, death, dated, issued, issue, expires, expiry,
    expired, appointment, meeting, seen, reviewed, visit, visited, due, signed, opened, closed, updated,
    created, joined, started, hired, since, until, edd
    """
)
A_VERSION = _words(
    """
    version, versions, ver, v, release, releases, released, build, builds, firmware, upgrade, upgraded,
    update, updated, patch, patched, revision, rev, section, sections, clause, chapter, paragraph, oid,
    driver, kernel, tag
    """
)

FIRMS = _words(
    """
    bank, ltd, limited, inc, plc, llc, llp, gmbh, ag, hospital, clinic, university, council, department,
    services, team, support
    """
)
FORM_LABELS = _words(
    """
    tel, telephone, phone, mobile, email, e-mail, fax, dob, d.o.b, date, name, address, iban, account, card,
    patient, customer, agent, nhs, ssn, id, dear, hello, hi, thanks, regards, sir, sirs, madam
    """
)
# What else begins with a capital letter behind `Agent:` or `Dear`, where a name may stand.
NOT_A_NAME = _words(
    """
    hey, good, morning, thank, yes, no, ok, okay, sorry, please, sure, well, right, my, your, our, his, her,
    their, i, it, is, are, the, this, that, there, we, you, he, she, they, and, but, could, can, may, would,
    will, do, did, have, has, for, of, on, in, to, at, which, what, when, where, who, how, why, all, everyone,
    colleague, colleagues, doctor, not, none, no, see, unknown, tbc, tbd, null, nil, deceased, redacted,
    president, chairman, chair, speaker, minister, secretary, mayor, ambassador
    """
)
# Things that have a name, too: `file name: Annual Report`.
NAMED_THINGS = _words(
    """
    file, user, host, class, domain, product, company, brand, path, table, column, field, server, event,
    street, project, package, model, branch, tag, display
    """
)
# Small words inside a surname.
PARTICLES = _words(
    "van, von, vom, de, del, della, der, den, des, di, da, dos, du, la, le, ter, ten, zu, zur, el, al, y"
)
# Words that stand at the beginning of sentences, in forms and in dates: a capital letter makes no name of them.
OPENERS = _words(
    """
    a, about, above, after, again, all, also, although, an, another, any, are, as, because, been, before,
    being, between, both, by, can, could, did, do, does, during, each, either, enough, even, every, few,
    finally, first, five, four, from, further, had, has, have, here, however, if, instead, into, is, it, its,
    last, later, least, less, let, like, many, maybe, me, meanwhile, might, mine, more, most, much, must, my,
    myself, need, neither, never, next, nobody, none, nor, nothing, now, off, often, once, one, only, or, other,
    others, otherwise, our, out, over, own, per, perhaps, quite, rather, same, second, several, shall, she,
    should, since, six, so, some, something, sometimes, still, such, than, their, them, then, there, therefore,
    these, third, those, though, three, through, thus, together, too, toward, two, under, until, up, upon, us,
    use, used, using, very, via, was, were, whatever, whenever, whether, while, whose, with, within, without,
    would, yet, yours, january, february, march, april, may, june, july, august, september, october, november,
    december, jan, feb, mar, apr, jun, jul, aug, sep, sept, oct, nov, dec, monday, tuesday, wednesday, thursday,
    friday, saturday, sunday, number, numbers, code, sort, order, reference, ref, contact, subject, refund,
    payment, invoice, balance, total, version, note, notes, plan, best, kind, yours, mr, mrs, ms, miss
    """
)
