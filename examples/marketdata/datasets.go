package main

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// datasets says of which columns the rows of an endpoint are made.
var datasets = func() map[string][]column {
	parsed := map[string][]column{}
	for id, columns := range map[string]string{
		"sec-filings":            "day=spaced symbol form=10-K|10-Q|10-Q/A|8-K|20-F|6-K accession=id",
		"sec-10k-sections":       "year symbol text=We_depend_on_few_suppliers.|Our_results_vary_with_the_season.|A_court_may_decide_against_us.|Competition_is_growing.",
		"sec-8k-events":          "time symbol item=1.01|1.03|1.05|2.02|4.01|5.02|8.01 accession=id",
		"activist-stakes":        "day=spaced symbol holder=Granite_Point_Partners|Sable_Capital|Third_Harbor percent=5.0..14.9 purpose=seats_on_the_board|a_sale_of_the_company|buybacks",
		"institutional-holdings": "quarter manager=Larkspur_Capital|Oxbow_Asset_Management|Pinnacle_Trust|Quill_Partners symbol shares=1000..9000000 change=-500000..500000",
		"insider-trades":         "day symbol person role=CEO|CFO|director|general_counsel code=P|S|A|M|G shares=100..40000 price value=10000..4000000 planned=bool",
		"insider-clusters":       "day symbol company people=2..9 days=3..30 value=200000..9000000 score=0.10..1.00",
		"congress-trades":        "day member=person chamber=house|senate party=D|R symbol sector side=buy|sell range=1,001_to_15,000|15,001_to_50,000|50,001_to_100,000 days_to_disclosure=3..60 family=bool",
		"lobbying":               "quarter client=company firm=Cardinal_Street_Group|Hill_and_Harbor|Potomac_Advisers issue=TAX|DEF|ENG|HCR|TRD amount=10000..2000000",
		"government-contracts":   "day symbol recipient=company agency=DoD|NASA|DoE|HHS|DHS value=50000..400000000 ceiling=500000..900000000",
		"work-visas":             "year employer=company title=software_engineer|data_scientist|hardware_engineer|physician state=CA|TX|WA|NY salary=70000..310000",
		"short-interest":         "day symbol shares_short=100000..90000000 days_to_cover=0.5..12.0 percent_of_float=0.5..45.0",
		"borrow-fee":             "time symbol annual_percent=0.3..120.0 available=0..900000",
		"options-flow":           "time symbol type=call|put strike=price premium=20000..3000000 sweep=bool side=bid|ask",
		"options-chain":          "expiry=ahead symbol type=call|put strike=price bid=0.1..40.0 ask=0.1..41.0 delta=-1.00..1.00 gamma=0.00..0.10 open_interest=0..60000",
		"implied-volatility":     "day symbol tenor=7d|30d|60d|90d volatility=0.10..1.40 rank=0..100",
		"dark-pool":              "day symbol size=10000..2000000 price late=bool",
		"earnings-calendar":      "day=ahead symbol company when=before_open|after_close confirmed=bool eps_expected=-1.00..6.00",
		"earnings-surprises":     "quarter symbol eps_expected=-1.00..6.00 eps=-1.00..6.00 next_day_percent=-12.0..12.0",
		"earnings-calls":         "quarter symbol speaker=person role=CEO|CFO|analyst tone=-1.00..1.00 text=Demand_was_better_than_we_planned.|We_see_pressure_on_prices.|We_keep_our_outlook.",
		"analyst-ratings":        "day symbol action=upgrade|downgrade|initiate|reiterate broker=Birch_Securities|Halden_and_Sons|Wexley analyst=person rating=buy|hold|sell",
		"price-targets":          "day symbol broker=Birch_Securities|Halden_and_Sons|Wexley target=price",
		"patents":                "day assignee=company class=H04L|G06F|B60L|A61K status=application|grant number=id citations=0..80",
		"app-rankings":           "day app=Nimbus_Home|Lantern_Quest|Granary_Pay|Finch_Radio store=ios|android country=US|DE|JP rank=1..200 downloads=1000..900000",
		"web-traffic":            "month domain=nimbus.example|quarzal.example|finch.example visits=100000..90000000 visitors=50000..40000000",
		"news-sentiment":         "time symbol headline=Company_raises_its_outlook|Regulator_asks_questions|New_plant_opens|Merger_talks_reported score=-1.00..1.00 relevance=0.10..1.00",
		"social-mentions":        "time=hour symbol network=reddit|stocktwits|x mentions=0..9000 change_percent=-90.0..400.0",
		"financials":             "period symbol revenue=100000000..9000000000 net_income=-200000000..1500000000 gross_margin=0.10..0.80 cash=10000000..4000000000 debt=0..6000000000",
		"income-statement":       "period symbol revenue=100000000..9000000000 gross_profit=50000000..5000000000 operating_income=-100000000..2000000000 net_income=-200000000..1500000000",
		"balance-sheet":          "period symbol cash=10000000..4000000000 inventory=0..900000000 assets=500000000..20000000000 debt=0..6000000000 equity=100000000..9000000000",
		"cash-flow":              "period symbol operating=-100000000..3000000000 investing=-2000000000..0 financing=-1000000000..1000000000 free_cash_flow=-500000000..2000000000",
		"valuation-ratios":       "day symbol ratio=pe|ps|pb|ev_ebitda|peg value=0.5..60.0 percentile=0..100",
		"dividends":              "day=spaced symbol amount=0.05..1.80 yield_percent=0.3..7.0 special=bool",
		"splits":                 "day=spaced symbol kind=forward|reverse ratio=2:1|3:1|1:10|1:20",
		"buybacks":               "day=spaced symbol authorised=100000000..5000000000 spent=1000000..900000000 average_price=price",
		"etf-holdings":           "day fund=STDY|GRWT|TECH|ENGY symbol weight_percent=0.1..9.0 shares=1000..900000",
		"etf-flows":              "day fund=STDY|GRWT|TECH|ENGY theme=semiconductors|clean_energy|dividends|defense flow=-90000000..90000000",
		"ipo-calendar":           "day=ahead name=Amberlin|Corvid_Labs|Fathom_Bio|Hexa_Acquisition status=upcoming|priced|withdrawn exchange=XNYS|XNAS low=8.0..20.0 high=20.0..40.0 spac=bool",
		"treasury-yields":        "day tenor=1m|3m|2y|5y|10y|30y percent=2.50..5.20",
		"treasury-auctions":      "day kind=bill|note|bond|tips high_yield=2.50..5.20 bid_to_cover=2.00..3.20 tail_bp=-2.0..3.0",
		"crypto-prices":          "day coin=BTC|ETH|SOL close=20.0..90000.0 volume=1000000..900000000",
		"crypto-flows":           "time=hour coin=BTC|ETH net_flow=-9000.0..9000.0 miners=-500.0..500.0",
		"consumer-prices":        "month component=all|core|food|energy|shelter index=280.0..330.0 year_percent=-2.0..6.0",
		"gdp":                    "quarter country=US|DE|JP|GB|FR growth_percent=-2.0..4.5 estimate=advance|second|third",
		"jobs-report":            "month series=payrolls|unemployment|wages|participation value=0.1..300.0",
		"fed-decisions":          "day=week change_bp=-25|0|25 votes_for=8..12",
		"housing":                "month series=starts|permits|sales|prices|mortgage region=Northeast|Midwest|South|West value=1.0..1700.0",
		"degree-days":            "day=ahead region=Northeast|Midwest|South|West kind=heating|cooling value=0..45 normal=0..45",
		"ports":                  "day=week port=Los_Angeles|Rotterdam|Singapore|Shanghai teu=20000..900000 waiting=0..60",
		"freight-rates":          "day=week index=BDI|SCFI|WCI|truckload route=SHA-RTM|SHA-LAX|SIN-RTM value=900.0..4000.0",
		"commodities":            "day root=CL|NG|GC|HG|ZC month=1..12 settlement=2.0..4000.0",
		"futures-positions":      "day=week root=CL|NG|GC|HG|ZC group=commercial|managed_money|small net=-300000..300000",
		"market-hours":           "day=ahead exchange=XNYS|XNAS|XLON|XTKS opens=09:30|09:00 closes=16:00|13:00",
	} {
		parsed[id] = columnsOf(columns)
	}
	return parsed
}()

// specials are the endpoints whose answers are no generated rows.
var specials = map[string]func(*data, map[string]any, *company) (any, bool){
	"symbol-search":   symbolSearch,
	"company-profile": companyProfile,
	"quotes":          quotes,
	"daily-bars":      dailyBars,
	"fx-rates":        fxRates,
}

func symbolSearch(_ *data, args map[string]any, _ *company) (any, bool) {
	query, exchange := strings.ToLower(args["query"].(string)), args["exchange"]
	var rows []row
	for _, c := range companies {
		found := strings.Contains(strings.ToLower(c.Name), query) || strings.EqualFold(c.Symbol, query)
		if found && (exchange == nil || exchange == c.Exchange) {
			rows = append(rows, row{"symbol": c.Symbol, "name": c.Name, "sector": c.Sector, "exchange": c.Exchange, "listed": true})
		}
	}
	return cut(rows, args), true
}

func companyProfile(d *data, _ map[string]any, c *company) (any, bool) {
	r := d.rand("company-profile", c.Symbol)
	var peers []string
	for _, other := range companies {
		if other.Sector == c.Sector && other.Symbol != c.Symbol {
			peers = append(peers, other.Symbol)
		}
	}
	return row{
		"symbol": c.Symbol, "name": c.Name, "sector": c.Sector, "headquarters": c.City, "founded": 1920 + r.IntN(100),
		"chief_executive": people[r.IntN(len(people))], "employees": 200 + r.IntN(90_000), "peers": peers,
	}, true
}

func quotes(d *data, args map[string]any, _ *company) (any, bool) {
	rows := []row{}
	for _, symbol := range args["symbols"].([]string) {
		c, ok := companyOf(symbol)
		if !ok {
			return nil, false
		}
		last := d.bar(c, 0)["close"].(float64)
		rows = append(rows, row{"symbol": c.Symbol, "last": last, "bid": round(last-.01, 2), "ask": round(last+.01, 2), "time": lastDay.Format(time.RFC3339)})
	}
	return map[string]any{"rows": rows, "total": len(rows)}, true
}

func dailyBars(d *data, args map[string]any, c *company) (any, bool) {
	var rows []row
	for i := range candidates {
		if bar := d.bar(*c, i); bar != nil && fits(bar, args) {
			rows = append(rows, bar)
		}
	}
	return cut(rows, args), true
}

// bar returns the trading day that was n days before the last, or nil if there
// was no trading.
func (d *data) bar(c company, n int) row {
	day := lastDay.AddDate(0, 0, -n)
	if weekday(day) != day {
		return nil
	}
	r := d.rand("daily-bars", c.Symbol, n)
	open, closing := c.Price*(.95+.1*r.Float64()), c.Price*(.95+.1*r.Float64())
	return row{
		"day": day.Format(time.DateOnly), "open": round(open, 2), "close": round(closing, 2),
		"high": round(max(open, closing)*1.01, 2), "low": round(min(open, closing)*.99, 2), "volume": 100_000 + r.IntN(9_000_000),
	}
}

func fxRates(d *data, args map[string]any, _ *company) (any, bool) {
	base, quote := strings.ToUpper(args["base"].(string)), strings.ToUpper(args["quote"].(string))
	// What a unit is worth depends on the currency alone, so that crosses agree.
	worth := func(currency string) float64 { return .2 + 2*d.rand("fx-rates", currency).Float64() }
	var rows []row
	for i := range candidates {
		r := row{
			"day": weekday(lastDay.AddDate(0, 0, -i)).Format(time.DateOnly), "pair": base + "/" + quote,
			"rate": round(worth(base)/worth(quote)*(.99+.02*d.rand("fx-rates", i).Float64()), 4),
		}
		if amount, ok := args["amount"].(float64); ok {
			r["converted"] = round(amount*r["rate"].(float64), 2)
		}
		if fits(r, args) {
			rows = append(rows, r)
		}
	}
	rows = slices.CompactFunc(rows, func(a, b row) bool { return cmp.Compare(a["day"].(string), b["day"].(string)) == 0 })
	return cut(rows, args), true
}
